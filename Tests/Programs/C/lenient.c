// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C5: arguments that are out of range, or have no name, and what libdispatch makes of them. Compiled against any <dispatch/dispatch.h>, with
// blocks.

#include "check.h"

#include <Block.h>
#include <dispatch/dispatch.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

static dispatch_semaphore_t met;
static int has_met;

static void wait_for_other(void *unused) {
  (void)unused;
  has_met = dispatch_semaphore_wait(met, dispatch_time(DISPATCH_TIME_NOW, 20 * (int64_t)NSEC_PER_SEC)) == 0;
}

static void meet(void *unused) {
  (void)unused;
  dispatch_semaphore_signal(met);
}

static void signal_context(void *semaphore) { dispatch_semaphore_signal(semaphore); }

static void nothing(void *unused) { (void)unused; }

// Two items run beside each other.
static void expect_concurrent(dispatch_queue_attr_t attributes) {
  dispatch_queue_t queue = dispatch_queue_create("concurrent", attributes);
  met = dispatch_semaphore_create(0);
  has_met = 0;
  dispatch_async_f(queue, NULL, wait_for_other);
  dispatch_async_f(queue, NULL, meet);
  dispatch_barrier_sync_f(queue, NULL, nothing);
  CHECK(has_met);
  dispatch_release(queue);
  dispatch_release(met);
}

// What is out of range leaves the attributes as they are.
static void attributes(void) {
  dispatch_queue_attr_t given[] = {
      DISPATCH_QUEUE_SERIAL, DISPATCH_QUEUE_CONCURRENT, dispatch_queue_attr_make_initially_inactive(DISPATCH_QUEUE_CONCURRENT),
      dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_SERIAL, 0x11, -3)};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    CHECK(dispatch_queue_attr_make_with_qos_class(given[i], 0x99, 0) == given[i]);
    CHECK(dispatch_queue_attr_make_with_qos_class(given[i], 0x11, -16) == given[i]);
    CHECK(dispatch_queue_attr_make_with_qos_class(given[i], 0x11, 1) == given[i]);
  }
  expect_concurrent(dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_CONCURRENT, 0x99, 0));
  expect_concurrent(
      dispatch_queue_attr_make_with_autorelease_frequency(DISPATCH_QUEUE_CONCURRENT, (dispatch_autorelease_frequency_t)7));
}

// There is a priority of which no header has the name.
static void priorities(void) {
  dispatch_queue_t low = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_LOW, 0);
  dispatch_queue_t unnamed = dispatch_get_global_queue(INT8_MIN, 0);
  CHECK(unnamed != NULL && strcmp(dispatch_queue_get_label(unnamed), dispatch_queue_get_label(low)) == 0);
  CHECK(dispatch_get_global_queue(INT8_MIN - 1, 0) == NULL);
  CHECK(dispatch_get_global_queue(INT8_MIN + 1, 0) == NULL);
}

// A timer's handle may name the clock of its times: 1, 2 and 3 do.
static void timers(void) {
  for (uintptr_t handle = 0; handle < 4; handle++) {
    dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, handle, 0, NULL);
    CHECK(timer != NULL && dispatch_source_get_handle(timer) == handle);
    dispatch_activate(timer);
    dispatch_source_cancel(timer);
    dispatch_release(timer);
  }
  dispatch_semaphore_t fired = dispatch_semaphore_create(0);
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 1, 0, NULL);
  dispatch_set_context(timer, fired);
  dispatch_source_set_event_handler_f(timer, signal_context);
  dispatch_source_set_timer(timer, dispatch_time(DISPATCH_TIME_NOW, 1), DISPATCH_TIME_FOREVER, 0);
  dispatch_activate(timer);
  CHECK(dispatch_semaphore_wait(fired, DISPATCH_TIME_FOREVER) == 0);
  dispatch_source_cancel(timer);
  dispatch_release(timer);
  CHECK(dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 4, 0, NULL) == NULL);
}

// Two flags of work items have no name.
static void flags(void) {
  __block int runs = 0;
  for (int bit = 0; bit < 9; bit++) {
    dispatch_block_t item = dispatch_block_create((dispatch_block_flags_t)(1 << bit), ^{
      runs++;
    });
    CHECK((item != NULL) == (bit < 8));
    if (item == NULL) continue;
    item();
    Block_release(item);
  }
  CHECK(runs == 8);
}

// A path that is not absolute is no channel, whatever the rest; and what is left of no bytes is no object.
static void transfers(void) {
  dispatch_queue_t none = NULL;
  CHECK(dispatch_io_create_with_path(DISPATCH_IO_STREAM, "relative", 0, 0, none, ^(int error) {
          (void)error;
        }) == NULL);
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  __block dispatch_data_t left = dispatch_data_empty;
  __block int failure = 0;
  dispatch_write(-1, dispatch_data_empty, dispatch_get_global_queue(0, 0), ^(dispatch_data_t data, int error) {
    left = data;
    failure = error;
    dispatch_semaphore_signal(done);
  });
  CHECK(dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER) == 0);
  CHECK(left == NULL && failure == EBADF);
  dispatch_release(done);
}

int main(void) {
  attributes();
  priorities();
  timers();
  flags();
  transfers();
  printf("%d checks\n", checks);
}
