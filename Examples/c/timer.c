// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A timer on the wall clock: fires at once, then at every interval.
//
// Prints:
//   fired 1
//   fired 2
//   fired 3

#include <dispatch/dispatch.h>

#include "expect.h"

static dispatch_source_t storedTimer;
static int fired;
static dispatch_time_t begin;

static void MyPeriodicTask(void) {
  // Interval by interval, never early.
  expect(dispatch_time(DISPATCH_TIME_NOW, 0) >= dispatch_time(begin, (int64_t)(fired * 20 * NSEC_PER_MSEC)));
  fired++;
  printf("fired %d\n", fired);
  if (fired == 3) {
    dispatch_source_cancel(storedTimer);
    dispatch_release(storedTimer);
    exit(0);
  }
}

static void MyStoreTimer(dispatch_source_t timer) { storedTimer = timer; }

static dispatch_source_t CreateDispatchTimer(uint64_t interval, uint64_t leeway, dispatch_queue_t queue,
                                             dispatch_block_t block) {
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  if (timer) {
    dispatch_source_set_timer(timer, dispatch_walltime(NULL, 0), interval, leeway);
    dispatch_source_set_event_handler(timer, block);
    dispatch_resume(timer);
  }
  return timer;
}

static void MyCreateTimer(void) {
  // An application would rather use 30ull * NSEC_PER_SEC, with a leeway of 1ull * NSEC_PER_SEC.
  dispatch_source_t aTimer = CreateDispatchTimer(20ull * NSEC_PER_MSEC, 1ull * NSEC_PER_MSEC, dispatch_get_main_queue(), ^{
    MyPeriodicTask();
  });

  if (aTimer) {
    MyStoreTimer(aTimer);
  }
}

int main(void) {
  begin = dispatch_time(DISPATCH_TIME_NOW, 0);
  MyCreateTimer();
  dispatch_main();
}
