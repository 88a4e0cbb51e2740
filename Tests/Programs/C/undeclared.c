// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: what the library exports and no header of Linux declares. With blocks.

#include "check.h"

#include <Block.h>
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

extern dispatch_queue_attr_t dispatch_queue_attr_make_with_overcommit(dispatch_queue_attr_t attributes, bool overcommit);
extern dispatch_block_t _dispatch_block_create(
    dispatch_block_flags_t flags, void *voucher, unsigned long priority, dispatch_block_t block);
extern void (*const _dispatch_block_special_invoke)(void *block);
extern void _dispatch_bug(size_t line, long value);
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_poll_for_events_4launchd(void);
extern dispatch_queue_t _dispatch_runloop_root_queue_create_4CF(const char *label, unsigned long flags);
extern bool _dispatch_runloop_root_queue_perform_4CF(dispatch_queue_t queue);
extern void _dispatch_runloop_root_queue_wakeup_4CF(dispatch_queue_t queue);
extern void *_dispatch_wait_for_enqueuer(void **pointer);
extern void *_os_object_alloc(const void *type, size_t size);
extern void *_os_object_alloc_realized(const void *type, size_t size);
extern void _os_object_dealloc(void *object);
extern void *_os_object_retain(void *object);
extern void *_os_object_retain_with_resurrect(void *object, void *queue);
extern void _os_object_release(void *object);
extern void *_os_object_retain_internal_n(void *object, uint16_t times);
extern void _os_object_release_internal_n(void *object, uint16_t times);
extern void dispatch_queue_set_label_nocopy(dispatch_queue_t queue, const char *label);
extern void dispatch_source_cancel_and_wait(dispatch_source_t source);
extern size_t dispatch_source_get_extended_data(dispatch_source_t source, void *data, size_t size);
extern bool _dispatch_is_multithreaded(void);

static void blocks(void) {
  __block int runs = 0;
  dispatch_queue_t queue = dispatch_queue_create("blocks", NULL);
  dispatch_block_t item = _dispatch_block_create(DISPATCH_BLOCK_BARRIER, NULL, 0, ^{
    runs++;
  });
  CHECK(((void **)(void *)item)[2] == (void *)_dispatch_block_special_invoke);
  dispatch_block_t plain = ^{
    runs++;
  };
  CHECK(((void **)(void *)plain)[2] != (void *)_dispatch_block_special_invoke);
  dispatch_async(queue, item);
  CHECK(dispatch_block_wait(item, DISPATCH_TIME_FOREVER) == 0);
  CHECK(runs == 1);
  Block_release(item);
  CHECK(dispatch_block_create((dispatch_block_flags_t)(1 << 20), plain) == NULL);
  dispatch_release(queue);
}

static void labels(void) {
  dispatch_queue_t queue = dispatch_queue_create(NULL, NULL);
  CHECK(strcmp(dispatch_queue_get_label(queue), "") == 0);
  static const char label[] = "\xff a name that is no text \xc3";
  dispatch_queue_set_label_nocopy(queue, label);
  CHECK(dispatch_queue_get_label(queue) == label);
  dispatch_release(queue);
  // Bytes are kept as they are.
  char text[] = "\xf0\x28\x8c\x28 \x80 a label that is not short";
  queue = dispatch_queue_create(text, DISPATCH_QUEUE_CONCURRENT);
  const char *kept = dispatch_queue_get_label(queue);
  CHECK(kept != text && strcmp(kept, text) == 0 && dispatch_queue_get_label(queue) == kept);
  dispatch_sync(queue, ^{
    CHECK(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL) == kept);
  });
  dispatch_release(queue);
}

static void append(void *text) { strcat(text, "f"); }

static void *submit_and_wait(void *queue) {
  dispatch_sync(queue, ^{
    dispatch_assert_queue(queue);
  });
  return NULL;
}

static void run_loop_queues(void) {
  dispatch_queue_t queue = _dispatch_runloop_root_queue_create_4CF("loop", 0);
  CHECK(strcmp(dispatch_queue_get_label(queue), "loop") == 0);
  CHECK(!_dispatch_runloop_root_queue_perform_4CF(queue));
  char order[8] = "", *text = order;
  dispatch_async(queue, ^{
    strcat(text, "a");
    dispatch_assert_queue(queue);
    CHECK(dispatch_get_current_queue() == queue);
  });
  dispatch_async_f(queue, order, append);
  dispatch_barrier_async(queue, ^{
    strcat(text, "b");
  });
  _dispatch_runloop_root_queue_wakeup_4CF(queue);
  // No other thread runs the items, and each call runs one.
  usleep(1000);
  CHECK(order[0] == 0);
  CHECK(_dispatch_runloop_root_queue_perform_4CF(queue) && strcmp(order, "a") == 0);
  CHECK(_dispatch_runloop_root_queue_perform_4CF(queue) && strcmp(order, "af") == 0);
  CHECK(_dispatch_runloop_root_queue_perform_4CF(queue) && strcmp(order, "afb") == 0);
  CHECK(!_dispatch_runloop_root_queue_perform_4CF(queue));
  // A synchronous caller waits until its item has been performed.
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, submit_and_wait, queue) == 0);
  while (!_dispatch_runloop_root_queue_perform_4CF(queue)) usleep(100);
  CHECK(pthread_join(thread, NULL) == 0);
  dispatch_release(queue);
}

static void *set_later(void *pointer) {
  usleep(1000);
  __atomic_store_n((void **)pointer, pointer, __ATOMIC_RELEASE);
  return NULL;
}

static void objects(void) {
  uint64_t *object = _os_object_alloc(NULL, 64);
  for (int i = 2; i < 8; i++) CHECK(object[i] == 0);
  object[2] = object[7] = 42;
  CHECK(_os_object_retain(object) == object);
  CHECK(_os_object_retain_with_resurrect(object, NULL) == object);
  CHECK(_os_object_retain_internal_n(object, 3) == object);
  _os_object_release_internal_n(object, 3);
  _os_object_release(object);
  _os_object_release(object);
  CHECK(object[2] == 42 && object[7] == 42);
  _os_object_release(object);
  object = _os_object_alloc_realized(NULL, 8);
  dispatch_retain((dispatch_object_t){._do = (void *)object});
  dispatch_release((dispatch_object_t){._do = (void *)object});
  _os_object_dealloc(object);
}

static void sources(void) {
  dispatch_queue_t queue = dispatch_queue_create("sources", NULL);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
  static uint64_t data[2] = {0, 99}, part[2] = {0, 99};
  __block size_t size = 0;
  __block int running = 0, runs = 0;
  dispatch_semaphore_t began = dispatch_semaphore_create(0);
  dispatch_source_set_event_handler(source, ^{
    running = 1;
    size = dispatch_source_get_extended_data(source, data, sizeof data);
    dispatch_source_get_extended_data(source, part, sizeof part[0]);
    dispatch_semaphore_signal(began);
    // Not over before it is cancelled, and for a moment more: that is waited for.
    while (!dispatch_source_testcancel(source)) usleep(100);
    usleep(10000);
    runs++;
    running = 0;
  });
  dispatch_activate(source);
  dispatch_source_merge_data(source, 7);
  dispatch_semaphore_wait(began, DISPATCH_TIME_FOREVER);
  dispatch_source_merge_data(source, 8);
  dispatch_source_cancel_and_wait(source);
  // The handler that ran has returned, and none comes after it.
  CHECK(running == 0 && runs == 1);
  CHECK(size == sizeof data && data[0] == 7 && data[1] == 0);
  CHECK(part[0] == 7 && part[1] == 99);
  // The same once more for this source, and for one that was never active.
  dispatch_source_cancel_and_wait(source);
  dispatch_release(source);
  source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  dispatch_source_set_timer(source, DISPATCH_TIME_NOW, 1000, 0);
  dispatch_source_cancel_and_wait(source);
  CHECK(dispatch_source_testcancel(source) != 0);
  dispatch_release(source);
  int ends[2];
  CHECK(pipe(ends) == 0);
  source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[0], 0, queue);
  dispatch_source_set_event_handler(source, ^{});
  dispatch_activate(source);
  dispatch_source_cancel_and_wait(source);
  // Only now the descriptor may be closed.
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  dispatch_release(source);
  dispatch_release(began);
  dispatch_release(queue);
}

static void *cancel_and_wait(void *source) {
  dispatch_source_cancel_and_wait(source);
  return NULL;
}

// Each of several threads that cancel one source at once waits for the handler that runs.
static void cancelled_together(void) {
  dispatch_queue_t queue = dispatch_queue_create("source", NULL);
  for (int round = 0; round < 200; round++) {
    __block _Atomic(int) running = 0;
    dispatch_semaphore_t began = dispatch_semaphore_create(0);
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
    dispatch_source_set_event_handler(source, ^{
      running = 1;
      dispatch_semaphore_signal(began);
      usleep(500);
      running = 0;
    });
    dispatch_activate(source);
    dispatch_source_merge_data(source, 1);
    dispatch_semaphore_wait(began, DISPATCH_TIME_FOREVER);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, cancel_and_wait, source) == 0);
    dispatch_source_cancel_and_wait(source);
    CHECK(running == 0);
    CHECK(pthread_join(other, NULL) == 0);
    dispatch_release(source);
    dispatch_release(began);
  }
  dispatch_release(queue);
}

// What a run loop has waited for is closed, as a daemon does, and something else has its number when the process forks.
static void daemon_files(void) {
  int number = _dispatch_get_main_queue_handle_4CF();
  int ends[2];
  CHECK(number >= 0 && pipe(ends) == 0);
  CHECK(dup2(ends[1], number) == number);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(write(number, "x", 1) == 1 ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  char byte = 0;
  CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
  CHECK(dup2(epoll_create1(0), number) == number);
  child = fork();
  CHECK(child >= 0);
  struct epoll_event event = {.events = EPOLLIN};
  if (child == 0) _exit(epoll_ctl(number, EPOLL_CTL_ADD, ends[0], &event) == 0 ? 0 : 1);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Q18: a hint that has no effect, and spoils no other attribute.
static void overcommit(void) {
  for (int on = 0; on < 2; on++) {
    dispatch_queue_attr_t made = dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_CONCURRENT, 0x19, -3);
    dispatch_queue_t queue = dispatch_queue_create("hint", dispatch_queue_attr_make_with_overcommit(made, on));
    int relative = 0;
    CHECK(dispatch_queue_get_qos_class(queue, &relative) == 0x19 && relative == -3);
    dispatch_semaphore_t met = dispatch_semaphore_create(0);
    __block intptr_t result = 1;
    dispatch_async(queue, ^{
      result = dispatch_semaphore_wait(met, dispatch_time(DISPATCH_TIME_NOW, 20 * (int64_t)NSEC_PER_SEC));
    });
    dispatch_async(queue, ^{
      dispatch_semaphore_signal(met);
    });
    dispatch_barrier_sync(queue, ^{});
    CHECK(result == 0);
    dispatch_release(met);
    dispatch_release(queue);
  }
}

int main(void) {
  blocks();
  overcommit();
  cancelled_together();
  labels();
  run_loop_queues();
  objects();
  sources();
  void *pointer = NULL;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, set_later, &pointer) == 0);
  CHECK(_dispatch_wait_for_enqueuer(&pointer) == &pointer);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(_dispatch_is_multithreaded());
  _dispatch_poll_for_events_4launchd();
  _dispatch_bug(12, 34);
  daemon_files();
  printf("%d checks\n", checks);
}
