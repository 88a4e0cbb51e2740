// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C1, C2: most of the interface, by what it promises. Compiled against any <dispatch/dispatch.h>, with blocks.

#include "check.h"

#include <Block.h>
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Exported by every library, declared by few.
extern void dispatch_async_and_wait_f(dispatch_queue_t queue, void *context, dispatch_function_t work);

static void increment(void *counter) { ++*(int *)counter; }

static void increment_atomically(void *counter, size_t index) {
  __atomic_fetch_add((size_t *)counter, index, __ATOMIC_RELAXED);
}

static size_t finalized;
static dispatch_semaphore_t finalizer_ran;

static char finalizers_key;

static void finalize(void *context) {
  if (dispatch_get_specific(&finalizers_key) == context) finalized++;
  dispatch_semaphore_signal(finalizer_ran);
}

static void queues(void) {
  dispatch_queue_t queue = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
  CHECK(strcmp(dispatch_queue_get_label(queue), "serial") == 0);
  CHECK(strcmp(dispatch_queue_get_label(dispatch_get_main_queue()), "com.apple.main-thread") == 0);
  int count = 0;
  int *counter = &count;
  for (int i = 0; i < 1000; i++) dispatch_async_f(queue, &count, increment);
  dispatch_sync_f(queue, &count, increment);
  CHECK(count == 1001);
  for (int i = 0; i < 1000; i++) {
    dispatch_async(queue, ^{
      (*counter)++;
    });
  }
  __block int seen = 0;
  dispatch_sync(queue, ^{
    seen = *counter;
    dispatch_assert_queue(queue);
  });
  CHECK(seen == 2001);
  dispatch_async_and_wait_f(queue, &count, increment);
  CHECK(count == 2002);

  static char key;
  dispatch_queue_set_specific(queue, &key, &count, NULL);
  CHECK(dispatch_queue_get_specific(queue, &key) == &count);
  CHECK(dispatch_get_specific(&key) == NULL);
  dispatch_sync(queue, ^{
    CHECK(dispatch_get_specific(&key) == counter);
    CHECK(strcmp(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL), "serial") == 0);
  });

  dispatch_release(queue);
}

// O2: the finalizer gets the context once, on the target queue, after the last release; without a context it does not run.
static void finalizers(void) {
  static int context;
  finalizer_ran = dispatch_semaphore_create(0);
  dispatch_queue_t target = dispatch_queue_create("finalizers", DISPATCH_QUEUE_SERIAL);
  dispatch_queue_set_specific(target, &finalizers_key, &context, NULL);
  for (size_t round = 1; round <= 2; round++) {
    dispatch_object_t objects[] = {
        {._dq = dispatch_queue_create_with_target("queue", NULL, target)},
        {._ds = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, target)},
    };
    for (size_t i = 0; i < 2; i++) {
      dispatch_object_t object = objects[i];
      CHECK(dispatch_get_context(object) == NULL);
      dispatch_set_finalizer_f(object, finalize);
      dispatch_set_context(object, &context);
      CHECK(dispatch_get_context(object) == &context);
      if (round == 2) dispatch_set_context(object, NULL);
      if (i == 1) {
        dispatch_activate(object);
        dispatch_source_cancel(object._ds);
      }
      dispatch_retain(object);
      dispatch_release(object);
      dispatch_sync(target, ^{
      });
      CHECK(finalized == (round == 1 ? i : 2));
      dispatch_release(object);
      if (round == 1) CHECK(dispatch_semaphore_wait(finalizer_ran, DISPATCH_TIME_FOREVER) == 0);
    }
  }
  dispatch_sync(target, ^{
  });
  CHECK(finalized == 2);
  dispatch_release(target);
  dispatch_release(finalizer_ran);
}

// O1: globals take no notice of being counted.
static void globals(void) {
  dispatch_queue_t queues[] = {dispatch_get_main_queue(), dispatch_get_global_queue(0, 0)};
  for (int i = 0; i < 2; i++) {
    dispatch_retain(queues[i]);
    for (int j = 0; j < 10; j++) dispatch_release(queues[i]);
    dispatch_suspend(queues[i]);
    dispatch_resume(queues[i]);
  }
  dispatch_object_t attribute = {._dqa = dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_SERIAL, 0x21, -7)};
  dispatch_retain(attribute);
  dispatch_release(attribute);
  dispatch_release(attribute);
  for (int i = 0; i < 10; i++) dispatch_release(dispatch_data_empty);
  dispatch_data_t none = dispatch_data_create("", 0, NULL, NULL);
  CHECK(none == dispatch_data_empty);
  dispatch_data_t part = dispatch_data_create_subrange(none, 3, 4);
  CHECK(part == dispatch_data_empty);
}

static void attributes(void) {
  dispatch_queue_attr_t attributes = dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_CONCURRENT, 0x19, -3);
  dispatch_queue_t queue = dispatch_queue_create("concurrent", attributes);
  int relative = 0;
  CHECK(dispatch_queue_get_qos_class(queue, &relative) == 0x19 && relative == -3);
  __block int count = 0;
  for (int i = 0; i < 100; i++) {
    dispatch_barrier_async(queue, ^{
      count++;
    });
  }
  dispatch_barrier_sync(queue, ^{
    dispatch_assert_queue_barrier(queue);
  });
  CHECK(count == 100);
  dispatch_release(queue);

  attributes = dispatch_queue_attr_make_initially_inactive(DISPATCH_QUEUE_SERIAL);
  queue = dispatch_queue_create("inactive", attributes);
  dispatch_async(queue, ^{
    count++;
  });
  dispatch_set_target_queue(queue, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_LOW, 0));
  CHECK(count == 100);
  dispatch_activate(queue);
  dispatch_suspend(queue);
  dispatch_resume(queue);
  dispatch_sync(queue, ^{});
  CHECK(count == 101);
  dispatch_release(queue);
  CHECK(dispatch_get_global_queue(12345, 0) == NULL);
  CHECK(dispatch_get_global_queue(0, 0) == dispatch_get_global_queue(0x15, 0));
}

static void coordination(void) {
  dispatch_group_t group = dispatch_group_create();
  dispatch_queue_t global = dispatch_get_global_queue(0, 0);
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
  __block int total = 0;
  for (int i = 0; i < 100; i++) {
    dispatch_group_async(group, global, ^{
      __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED);
    });
  }
  CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
  CHECK(total == 100);
  dispatch_group_enter(group);
  CHECK(dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 1000000)) != 0);
  dispatch_group_notify(group, global, ^{
    dispatch_semaphore_signal(semaphore);
  });
  dispatch_group_leave(group);
  CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER) == 0);
  CHECK(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 1000000)) != 0);
  CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) != 0);
  CHECK(dispatch_semaphore_signal(semaphore) == 0);
  CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) == 0);
  dispatch_release(group);

  static dispatch_once_t once;
  __block int times = 0;
  for (int i = 0; i < 3; i++) {
    dispatch_once(&once, ^{
      times++;
    });
  }
  CHECK(times == 1);

  size_t indices = 0;
  dispatch_apply_f(1000, DISPATCH_APPLY_AUTO, &indices, increment_atomically);
  CHECK(indices == 499500);
  __block size_t again = 0;
  dispatch_apply(1000, global, ^(size_t index) {
    __atomic_fetch_add(&again, index, __ATOMIC_RELAXED);
  });
  CHECK(again == 499500);

  dispatch_time_t before = dispatch_time(DISPATCH_TIME_NOW, 20 * 1000000);
  __block dispatch_time_t ran = 0;
  dispatch_after(before, global, ^{
    ran = dispatch_time(DISPATCH_TIME_NOW, 0);
    dispatch_semaphore_signal(semaphore);
  });
  CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER) == 0);
  CHECK(ran >= before);
  dispatch_release(semaphore);
}

static void items(void) {
  __block int runs = 0;
  dispatch_queue_t queue = dispatch_queue_create("items", NULL);
  dispatch_block_t item = dispatch_block_create(0, ^{
    runs++;
  });
  dispatch_async(queue, item);
  CHECK(dispatch_block_wait(item, DISPATCH_TIME_FOREVER) == 0);
  CHECK(runs == 1);
  CHECK(dispatch_block_testcancel(item) == 0);
  Block_release(item);
  // Another item: one that was waited for may not run again on every library.
  item = dispatch_block_create(DISPATCH_BLOCK_BARRIER, ^{
    runs++;
  });
  item();
  CHECK(runs == 2);
  dispatch_block_cancel(item);
  CHECK(dispatch_block_testcancel(item) != 0);
  dispatch_sync(queue, item);
  CHECK(runs == 2);
  Block_release(item);
  dispatch_release(queue);
}

static void timers(void) {
  dispatch_queue_t queue = dispatch_queue_create("timers", NULL);
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  dispatch_semaphore_t over = dispatch_semaphore_create(0);
  __block unsigned long fires = 0;
  dispatch_source_set_timer(timer, DISPATCH_TIME_NOW, 5 * 1000000, 0);
  dispatch_source_set_event_handler(timer, ^{
    fires += dispatch_source_get_data(timer);
    if (fires >= 3) dispatch_source_cancel(timer);
  });
  dispatch_source_set_cancel_handler(timer, ^{
    dispatch_semaphore_signal(over);
  });
  dispatch_resume(timer);
  CHECK(dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER) == 0);
  CHECK(fires >= 3 && dispatch_source_testcancel(timer) != 0);
  dispatch_release(timer);

  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 5, queue) == NULL);
  dispatch_source_t added = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
  __block unsigned long sum = 0;
  dispatch_source_set_event_handler(added, ^{
    sum += dispatch_source_get_data(added);
    if (sum == 5050) dispatch_semaphore_signal(over);
  });
  dispatch_activate(added);
  for (unsigned long i = 1; i <= 100; i++) dispatch_source_merge_data(added, i);
  CHECK(dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER) == 0);
  dispatch_source_cancel(added);
  dispatch_release(added);

  int ends[2];
  CHECK(pipe(ends) == 0);
  dispatch_source_t reader = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[0], 0, queue);
  dispatch_source_set_event_handler(reader, ^{
    dispatch_source_cancel(reader);
  });
  dispatch_source_set_cancel_handler(reader, ^{
    dispatch_semaphore_signal(over);
  });
  dispatch_resume(reader);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER) == 0);
  close(ends[0]);
  close(ends[1]);
  dispatch_release(reader);
  dispatch_release(queue);
  dispatch_release(over);
}

static void data(void) {
  CHECK(dispatch_data_get_size(dispatch_data_empty) == 0);
  dispatch_data_t hello = dispatch_data_create("hello ", 6, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  dispatch_data_t world = dispatch_data_create(strdup("world"), 5, NULL, DISPATCH_DATA_DESTRUCTOR_FREE);
  dispatch_data_t both = dispatch_data_create_concat(hello, world);
  const void *bytes = NULL;
  size_t size = 0;
  dispatch_data_t map = dispatch_data_create_map(both, &bytes, &size);
  CHECK(size == 11 && memcmp(bytes, "hello world", 11) == 0);
  __block size_t walked = 0;
  CHECK(dispatch_data_apply(both, ^bool(dispatch_data_t region, size_t offset, const void *buffer, size_t count) {
    (void)region;
    (void)buffer;
    CHECK(offset == walked);
    walked += count;
    return true;
  }));
  CHECK(walked == 11);
  dispatch_data_t part = dispatch_data_create_subrange(both, 4, 4);
  CHECK(dispatch_data_get_size(part) == 4);
  dispatch_release(part);
  // The whole is the object itself, with a reference more.
  dispatch_data_t wholes[] = {
      dispatch_data_create_subrange(both, 0, 11),
      dispatch_data_create_concat(both, dispatch_data_empty),
      dispatch_data_create_concat(dispatch_data_empty, both),
  };
  for (int i = 0; i < 3; i++) {
    CHECK(wholes[i] == both);
    dispatch_release(wholes[i]);
  }
  CHECK(dispatch_data_create_concat(dispatch_data_empty, dispatch_data_empty) == dispatch_data_empty);
  dispatch_release(map);
  dispatch_release(both);
  dispatch_release(world);
  dispatch_release(hello);
}

static void io(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  dispatch_queue_t queue = dispatch_queue_create("io", NULL);
  dispatch_semaphore_t over = dispatch_semaphore_create(0);
  dispatch_data_t text = dispatch_data_create("some text", 9, NULL, NULL);
  dispatch_write(ends[1], text, queue, ^(dispatch_data_t rest, int error) {
    CHECK(rest == NULL && error == 0);
    dispatch_semaphore_signal(over);
  });
  dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER);
  close(ends[1]);
  __block size_t count = 0;
  // C5: resuming and suspending a channel does nothing, and is not counted.
  dispatch_io_t channel = dispatch_io_create(DISPATCH_IO_STREAM, ends[0], queue, ^(int error) {
    CHECK(error == 0);
    dispatch_semaphore_signal(over);
  });
  dispatch_resume(channel);
  dispatch_suspend(channel);
  dispatch_io_read(channel, 0, SIZE_MAX, queue, ^(bool done, dispatch_data_t piece, int error) {
    CHECK(error == 0);
    if (piece) count += dispatch_data_get_size(piece);
    if (done) dispatch_io_close(channel, 0);
  });
  dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER);
  CHECK(count == 9);
  close(ends[0]);
  dispatch_release(channel);
  dispatch_release(text);
  dispatch_release(queue);
  dispatch_release(over);
}

int main(int count, char **arguments) {
  // Libdispatch on Linux gives the main queue to another thread: with an argument the program insists on the main one.
  bool insists = count > 1;
  (void)arguments;
  pthread_t main_thread = pthread_self();
  queues();
  finalizers();
  globals();
  attributes();
  coordination();
  items();
  timers();
  data();
  io();
  // Q8: what is for the main queue runs on the main thread, and its submitter waits.
  dispatch_async(dispatch_get_global_queue(0, 0), ^{
    __block pthread_t thread;
    dispatch_sync(dispatch_get_main_queue(), ^{
      dispatch_assert_queue(dispatch_get_main_queue());
      CHECK(dispatch_get_current_queue() == dispatch_get_main_queue());
      thread = pthread_self();
    });
    CHECK(!insists || (!pthread_equal(thread, pthread_self()) && pthread_equal(thread, main_thread)));
    dispatch_async(dispatch_get_main_queue(), ^{
      printf("%d checks\n", checks);
      exit(0);
    });
  });
  dispatch_main();
}
