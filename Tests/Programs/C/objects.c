// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What objects of each kind do with a target, a finalizer and a barrier, and what a child of a fork does with its parent's.

#include "check.h"

#include <dispatch/dispatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern dispatch_data_t dispatch_data_create_f(
    const void *buffer, size_t size, dispatch_queue_t queue, dispatch_function_t destructor);

static dispatch_semaphore_t behind;
static dispatch_queue_t queue_of_test;
static dispatch_semaphore_t finished_here;
static int is_reading, was_alone;

static void finalize(void *unused) {
  (void)unused;
  const char *label = dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL);
  if (strcmp(label, "target") == 0) dispatch_semaphore_signal(finished_here);
}

static void finalizers(void) {
  finished_here = dispatch_semaphore_create(0);
  dispatch_queue_t target = dispatch_queue_create("target", NULL);
  int ends[2];
  CHECK(pipe(ends) == 0);
  dispatch_object_t objects[] = {
    {._dg = dispatch_group_create()}, {._dsema = dispatch_semaphore_create(0)},
    {._ddata = dispatch_data_create("abc", 3, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT)},
    {._dchannel = dispatch_io_create(DISPATCH_IO_STREAM, ends[0], target, ^(int error) { (void)error; })}};
  for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
    dispatch_set_target_queue(objects[i], target);
    dispatch_set_context(objects[i], "context");
    dispatch_set_finalizer_f(objects[i], finalize);
    dispatch_release(objects[i]);
    CHECK(dispatch_semaphore_wait(finished_here, dispatch_time(DISPATCH_TIME_NOW, 60 * NSEC_PER_SEC)) == 0);
  }
  // The destructors that have names are blocks; this call takes functions.
  dispatch_release(dispatch_data_create_f(malloc(8), 8, NULL, (dispatch_function_t)(void *)DISPATCH_DATA_DESTRUCTOR_FREE));
  dispatch_release(target);
}

static int destroyed, order;

static void finalize_behind(void *unused) {
  (void)unused;
  order += destroyed == 1;
  finalize(NULL);
}

// Data's finalizer goes to the destructor's queue, behind it: what it frees the destructor may use.
static void destructors(void) {
  dispatch_queue_t target = dispatch_queue_create("target", NULL);
  for (int round = 0; round < 100; round++) {
    bool is_set = round & 1;
    destroyed = 0;
    dispatch_data_t data = dispatch_data_create("abc", 3, is_set ? NULL : target, ^{ destroyed++; });
    dispatch_set_context(data, "context");
    dispatch_set_finalizer_f(data, finalize_behind);
    if (is_set) dispatch_set_target_queue(data, target);
    dispatch_release(data);
    CHECK(dispatch_semaphore_wait(finished_here, dispatch_time(DISPATCH_TIME_NOW, 60 * NSEC_PER_SEC)) == 0);
  }
  CHECK(order == 100);
  dispatch_release(target);
}

// What has no target to set keeps the one that it has.
static void fixed_targets(void) {
  dispatch_queue_t serial = dispatch_queue_create("serial", NULL);
  dispatch_set_target_queue(dispatch_get_global_queue(0, 0), serial);
  dispatch_set_target_queue(dispatch_get_main_queue(), serial);
  dispatch_workloop_t loop = dispatch_workloop_create("loop");
  dispatch_set_target_queue(loop, serial);
  dispatch_release(loop);
  dispatch_release(serial);
  checks++;
}

static void read_slowly(void *unused) {
  (void)unused;
  __atomic_store_n(&is_reading, 1, __ATOMIC_SEQ_CST);
  dispatch_semaphore_signal(behind);
  usleep(50000);
  __atomic_store_n(&is_reading, 0, __ATOMIC_SEQ_CST);
}

// A source's handlers that stand for barriers run alone.
static void barriers(void) {
  queue_of_test = dispatch_queue_create("barriers", DISPATCH_QUEUE_CONCURRENT);
  behind = dispatch_semaphore_create(0);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue_of_test);
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  dispatch_block_t look = dispatch_block_create(DISPATCH_BLOCK_BARRIER, ^{
    was_alone += !__atomic_load_n(&is_reading, __ATOMIC_SEQ_CST);
    dispatch_semaphore_signal(done);
  });
  dispatch_source_set_event_handler(source, look);
  dispatch_source_set_cancel_handler(source, look);
  dispatch_activate(source);
  dispatch_async_f(queue_of_test, NULL, read_slowly);
  dispatch_semaphore_wait(behind, DISPATCH_TIME_FOREVER);
  dispatch_source_merge_data(source, 1);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_async_f(queue_of_test, NULL, read_slowly);
  dispatch_semaphore_wait(behind, DISPATCH_TIME_FOREVER);
  dispatch_source_cancel(source);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  CHECK(was_alone == 2);
  dispatch_release(source);
  dispatch_release(queue_of_test);
}

// A type has no mask of another's, and some have no handle.
static void refused_sources(void) {
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, 0, 1, NULL) == NULL);
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_WRITE, 1, 1, NULL) == NULL);
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_SIGNAL, 10, 1, NULL) == NULL);
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 5, 0, NULL) == NULL);
  // The second flag has a name on Darwin only.
  for (unsigned long flags = 0; flags < 5; flags++) {
    dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, flags, NULL);
    CHECK((timer != NULL) == (flags < 4));
    if (timer == NULL) continue;
    CHECK(dispatch_source_get_mask(timer) == (flags == 3 ? 1 : flags));
    dispatch_activate(timer);
    dispatch_source_cancel(timer);
    dispatch_release(timer);
  }
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 5, 0, NULL) == NULL);
}

static dispatch_semaphore_t released;

static void nothing(void *context) { (void)context; }

static void release_queue(void *queue) {
  dispatch_release(queue);
  dispatch_semaphore_signal(released);
}

// The last item of a queue, or the one behind a suspension, releases it: the thread that has submitted it, or resumes, touches it no more.
static void last_items(void) {
  enum { rounds = 20000 };
  released = dispatch_semaphore_create(0);
  for (int round = 0; round < rounds; round++) {
    dispatch_queue_t queue = dispatch_queue_create("last", round % 5 == 0 ? DISPATCH_QUEUE_CONCURRENT : NULL);
    bool is_suspended = round % 4 == 0;
    if (is_suspended) dispatch_suspend(queue);
    dispatch_async_f(queue, NULL, nothing);
    // A barrier, because the items of a concurrent queue have no order.
    dispatch_barrier_async_f(queue, queue, release_queue);
    if (is_suspended) dispatch_resume(queue);
  }
  for (int round = 0; round < rounds; round++) CHECK(dispatch_semaphore_wait(released, DISPATCH_TIME_FOREVER) == 0);
  dispatch_release(released);
}

// A child gives back what its parent has.
static void channels_of_parents(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  dispatch_io_t channel = dispatch_io_create(
      DISPATCH_IO_STREAM, ends[0], dispatch_get_global_queue(0, 0), ^(int error) { (void)error; });
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dispatch_io_close(channel, 0);
    dispatch_release(channel);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  dispatch_release(channel);
}

int main(void) {
  channels_of_parents();
  finalizers();
  destructors();
  fixed_targets();
  barriers();
  refused_sources();
  last_items();
  printf("%d checks\n", checks);
}
