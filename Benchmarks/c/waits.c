// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Rows in which a thread waits for another: what a machine that others load as well makes slow.

#include "meter.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

static dispatch_queue_t serial, global;
static dispatch_group_t group;
static dispatch_semaphore_t done, there, back;

static void nothing(void *context) { (void)context; }
static void signal_done(void *context) {
  (void)context;
  dispatch_semaphore_signal(done);
}

static void async_signal_wait(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_async_f(serial, NULL, signal_done);
    dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  }
}

static void group_notify_wait(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_group_async_f(group, serial, NULL, nothing);
    dispatch_group_notify_f(group, global, NULL, signal_done);
    dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  }
}

static void group_async_wait(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_group_async_f(group, serial, NULL, nothing);
    dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  }
}

static void async_sync(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_async_f(serial, NULL, nothing);
    dispatch_sync_f(serial, NULL, nothing);
  }
}

static void *answer(void *context) {
  for (long i = *(long *)context; i > 0; i--) {
    dispatch_semaphore_wait(there, DISPATCH_TIME_FOREVER);
    dispatch_semaphore_signal(back);
  }
  return NULL;
}

static void round_trips(long n) {
  pthread_t thread;
  expect(pthread_create(&thread, NULL, answer, &n) == 0, "no thread");
  for (long i = 0; i < n; i++) {
    dispatch_semaphore_signal(there);
    dispatch_semaphore_wait(back, DISPATCH_TIME_FOREVER);
  }
  pthread_join(thread, NULL);
}

// Without a library: what one thread's wait for another costs at least where both sleep. No row above can cost less, unless
// it spins, or runs the one's work on the other's thread.

enum { EMPTY, TURN, SLEEPS };
static _Alignas(64) _Atomic unsigned go, come;

static void take(_Atomic unsigned *word) {
  for (;;) {
    unsigned seen = TURN;
    if (atomic_compare_exchange_strong(word, &seen, EMPTY)) return;
    seen = EMPTY;
    if (atomic_compare_exchange_strong(word, &seen, SLEEPS) || seen == SLEEPS)
      syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, SLEEPS, NULL, NULL, 0);
  }
}

static void give(_Atomic unsigned *word) {
  if (atomic_exchange(word, TURN) == SLEEPS) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *answer_plainly(void *context) {
  for (long i = *(long *)context; i > 0; i--) {
    take(&go);
    give(&come);
  }
  return NULL;
}

static void plain_round_trips(long n) {
  pthread_t thread;
  expect(pthread_create(&thread, NULL, answer_plainly, &n) == 0, "no thread");
  for (long i = 0; i < n; i++) {
    give(&go);
    take(&come);
  }
  pthread_join(thread, NULL);
}

void wait_rows(void) {
  serial = dispatch_queue_create("serial", NULL);
  global = dispatch_get_global_queue(0, 0);
  group = dispatch_group_create();
  done = dispatch_semaphore_create(0);
  there = dispatch_semaphore_create(0);
  back = dispatch_semaphore_create(0);
  measure("async, signal, wait", 3000 * scale, async_signal_wait);
  measure("group async, notify, signal, wait", 2000 * scale, group_notify_wait);
  measure("group async and wait", 3000 * scale, group_async_wait);
  measure("semaphores between two threads, there and back", 3000 * scale, round_trips);
  measure("async and sync", 3000 * scale, async_sync);
  measure("no library: two futexes, there and back", 3000 * scale, plain_round_trips);
}
