// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// E1, E9: items of a global queue hand something to one serial queue and wait for it, far more of them than there may be threads. The
// last threads must be there for the serial queue, and its turn must not come behind items that wait for it.

#include "check.h"

#include <dispatch/dispatch.h>
#include <stdlib.h>
#include <unistd.h>

enum { ITEMS = 3000, ROUNDS = 5, SLEEPERS = 200 };

static dispatch_queue_t serial;

static void answer(void *semaphore) { dispatch_semaphore_signal(semaphore); }

static void ask(void *unused) {
  (void)unused;
  dispatch_semaphore_t answered = dispatch_semaphore_create(0);
  dispatch_async_f(serial, answered, answer);
  dispatch_semaphore_wait(answered, DISPATCH_TIME_FOREVER);
  dispatch_release(answered);
}

// While all of them sleep, nothing is started, and ordered work is lent threads of the reserve.
static void ask_later(void *unused) {
  usleep(100 * 1000);
  ask(unused);
}

static void ask_all(int items, dispatch_function_t work) {
  dispatch_group_t group = dispatch_group_create();
  for (int item = 0; item < items; item++) dispatch_group_async_f(group, dispatch_get_global_queue(0, 0), NULL, work);
  CHECK(dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 60 * (int64_t)NSEC_PER_SEC)) == 0);
  dispatch_release(group);
}

int main(void) {
  // Before the library's first use: fewer threads than items, so that they come to an end.
  CHECK(setenv("GRANDCENTRAL_THREAD_BUDGET", "64", 1) == 0);
  serial = dispatch_queue_create("answers", DISPATCH_QUEUE_SERIAL);
  for (int round = 0; round < ROUNDS; round++) ask_all(ITEMS, ask);
  ask_all(SLEEPERS, ask_later);
  printf("%d checks\n", checks);
}
