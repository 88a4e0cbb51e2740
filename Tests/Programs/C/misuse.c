// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C4: misuses the interface in the way that its argument names, and should not live to return.

#include <dispatch/dispatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

extern void dispatch_source_cancel_and_wait(dispatch_source_t source);
extern void dispatch_queue_set_width(dispatch_queue_t queue, long width);

static void nothing(void *context) { (void)context; }

static void again(void *queue) { dispatch_sync_f((dispatch_queue_t)queue, NULL, nothing); }

int main(int count, char **arguments) {
  const char *way = count == 2 ? arguments[1] : "";
  // Not a constant: compilers would see NULL where it may not be.
  void *volatile null = NULL;
  dispatch_queue_t queue = dispatch_queue_create("misused", NULL);
  if (!strcmp(way, "null-queue")) dispatch_async_f((dispatch_queue_t)null, NULL, nothing);
  if (!strcmp(way, "null-function")) dispatch_async_f(queue, NULL, (dispatch_function_t)null);
  if (!strcmp(way, "null-object")) dispatch_release((dispatch_queue_t)null);
  if (!strcmp(way, "not-an-item")) {
#if DISPATCH_BLOCKS
    dispatch_block_cancel(^{
    });
#endif
  }
  if (!strcmp(way, "sync-on-itself")) dispatch_sync_f(queue, queue, again);
  if (!strcmp(way, "resume")) dispatch_resume(queue);
  if (!strcmp(way, "leave")) dispatch_group_leave(dispatch_group_create());
  if (!strcmp(way, "assertion")) dispatch_assert_queue(queue);
  if (!strcmp(way, "width")) dispatch_queue_set_width(queue, 4);
  if (!strcmp(way, "cancel-and-wait")) {
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
    dispatch_source_set_cancel_handler_f(source, nothing);
    dispatch_source_cancel_and_wait(source);
  }
  if (!strcmp(way, "merge-into-timer")) {
    dispatch_source_merge_data(dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue), 1);
  }
  if (!strcmp(way, "time-for-signal")) {
    dispatch_source_set_timer(
        dispatch_source_create(DISPATCH_SOURCE_TYPE_SIGNAL, SIGUSR1, 0, queue), DISPATCH_TIME_NOW, DISPATCH_TIME_FOREVER, 0);
  }
  printf("survived %s\n", way);
  return 0;
}
