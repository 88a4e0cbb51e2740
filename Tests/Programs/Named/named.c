// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A program that knows nothing of GrandCentral. A trace of it names each function and block that it hands over.

#include <dispatch/dispatch.h>
#include <stdio.h>

static dispatch_semaphore_t done;

static void wait_for_it(void) { dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER); }
static void has_happened(void *context) {
  (void)context;
  dispatch_semaphore_signal(done);
}
static void is_over(void *context) {
  (void)context;
  dispatch_semaphore_signal(done);
}
static void has_begun(void *context) {
  (void)context;
  dispatch_semaphore_signal(done);
}
static void is_nothing(void *context) { (void)context; }
static void is_plain(void *context) {
  (void)context;
  dispatch_semaphore_signal(done);
}

static void source_with_functions(dispatch_queue_t queue) {
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
  dispatch_source_set_event_handler_f(source, has_happened);
  dispatch_source_set_cancel_handler_f(source, is_over);
  dispatch_source_set_registration_handler_f(source, has_begun);
  dispatch_resume(source);
  wait_for_it();
  // Otherwise the event may come in the same turn.
  dispatch_sync_f(queue, NULL, is_nothing);
  dispatch_source_merge_data(source, 1);
  wait_for_it();
  dispatch_source_cancel(source);
  wait_for_it();
  dispatch_release(source);
}

static void source_with_blocks(dispatch_queue_t queue) {
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
  dispatch_source_set_event_handler(source, ^{
    dispatch_semaphore_signal(done);
  });
  dispatch_block_t cancelled = dispatch_block_create(0, ^{
    dispatch_semaphore_signal(done);
  });
  dispatch_source_set_cancel_handler(source, cancelled);
  dispatch_resume(source);
  dispatch_source_merge_data(source, 1);
  wait_for_it();
  dispatch_source_cancel(source);
  wait_for_it();
  dispatch_release(source);
}

static void items(dispatch_queue_t queue) {
  dispatch_block_t item = dispatch_block_create(0, ^{
  });
  dispatch_async(queue, item);
  dispatch_block_wait(item, DISPATCH_TIME_FOREVER);
  dispatch_group_t group = dispatch_group_create();
  // As large as a block that Swift makes of a closure, and with something to copy.
  void *first = group;
  __block int sum = 0;
  dispatch_group_async(group, queue, ^{
    sum += first != NULL;
  });
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  dispatch_release(group);
}

int main(void) {
  done = dispatch_semaphore_create(0);
  dispatch_queue_t queue = dispatch_queue_create("named", NULL);
  dispatch_async_f(queue, NULL, is_plain);
  wait_for_it();
  source_with_functions(queue);
  source_with_blocks(queue);
  items(queue);
  dispatch_sync_f(queue, NULL, is_nothing);
  printf("done\n");
  return 0;
}
