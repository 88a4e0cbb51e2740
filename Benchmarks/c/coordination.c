// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Groups, semaphores, once, apply.

#include "meter.h"

static dispatch_group_t group;
static dispatch_semaphore_t semaphore;
static dispatch_queue_t global;
static _Atomic long counter;

static void enter_leave(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_group_enter(group);
    dispatch_group_leave(group);
  }
}

static void signal_wait(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_semaphore_signal(semaphore);
    dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
  }
}

static void ignore(void *context) { (void)context; }

static void once(long n) {
  static dispatch_once_t predicate;
  // The function itself: in the header it is preceded by a look at the predicate.
  void (*volatile function)(dispatch_once_t *, void *, dispatch_function_t) = (dispatch_once_f);
  for (long i = 0; i < n; i++) function(&predicate, NULL, ignore);
}

static void iteration(void *context, size_t index) {
  (void)index;
  (void)context;
}

static void count_iteration(void *context, size_t index) {
  if (index % 1024 == 0) atomic_fetch_add_explicit((_Atomic long *)context, 1, memory_order_relaxed);
}

static void apply_64(long n) {
  for (long i = 0; i < n; i++) dispatch_apply_f(64, global, NULL, iteration);
}

static void apply_many(long n) {
  counter = 0;
  dispatch_apply_f((size_t)n, global, &counter, count_iteration);
  expect(counter == (n + 1023) / 1024, "apply_f lost an iteration");
}

void coordination_rows(void) {
  group = dispatch_group_create();
  semaphore = dispatch_semaphore_create(0);
  global = dispatch_get_global_queue(0, 0);
  measure("dispatch_group_enter and leave", 400000 * scale, enter_leave);
  measure("dispatch_semaphore_signal and wait", 400000 * scale, signal_wait);
  measure("dispatch_once_f, called again", 1000000 * scale, once);
  measure("dispatch_apply_f of 64", 3000 * scale, apply_64);
  measure("dispatch_apply_f, per iteration", 1000000 * scale, apply_many);
}
