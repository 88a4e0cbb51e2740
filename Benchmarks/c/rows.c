// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The rows of the C duel: prints the name of each, the time and the processor time of an operation. Built once, for the
// toolchain's library; the environment decides which one it runs on.
//
//   rows [SCALE]      SCALE times as many operations
//   rows SCALE waits  the rows in which a thread waits for another
//   rows start        a program that starts, and tells its memory in kilobytes

#include "meter.h"

#include <string.h>

unsigned scale = 1;

static dispatch_queue_t serial, concurrent, global;
static dispatch_group_t group;
static _Atomic long counter;
static long plain;

static void count(void *context) { (*(long *)context)++; }
static void count_together(void *context) {
  (void)context;
  atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}
static void nothing(void *context) { (void)context; }

// MARK: Submitting

static void async_f(long n) {
  plain = 0;
  for (long i = 0; i < n; i++) dispatch_async_f(serial, &plain, count);
  dispatch_sync_f(serial, &plain, count);
  expect(plain == n + 1, "async_f lost an item");
}

static void async_f_enqueue(long n) {
  dispatch_suspend(serial);
  for (long i = 0; i < n; i++) dispatch_async_f(serial, &plain, count);
  dispatch_resume(serial);
  dispatch_sync_f(serial, NULL, nothing);
}

static void async_block(long n) {
  long *number = &plain;
  plain = 0;
  for (long i = 0; i < n; i++) {
    dispatch_async(serial, ^{
      ++*number;
    });
  }
  dispatch_sync_f(serial, &plain, count);
  expect(plain == n + 1, "async lost an item");
}

static void barrier_async_f(long n) {
  plain = 0;
  for (long i = 0; i < n; i++) dispatch_barrier_async_f(concurrent, &plain, count);
  dispatch_barrier_sync_f(concurrent, &plain, count);
  expect(plain == n + 1, "barrier_async_f lost an item");
}

static void group_async_f(long n) {
  counter = 0;
  for (long i = 0; i < n; i++) dispatch_group_async_f(group, global, NULL, count_together);
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  expect(counter == n, "group_async_f lost an item");
}

static void group_async_f_serial(long n) {
  plain = 0;
  for (long i = 0; i < n; i++) dispatch_group_async_f(group, serial, &plain, count);
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  expect(plain == n, "group_async_f lost an item");
}

// MARK: Synchronous

static void sync_f(long n) {
  for (long i = 0; i < n; i++) dispatch_sync_f(serial, &plain, count);
}

static void sync_block(long n) {
  long *number = &plain;
  for (long i = 0; i < n; i++) {
    dispatch_sync(serial, ^{
      ++*number;
    });
  }
}

static void sync_f_concurrent(long n) {
  for (long i = 0; i < n; i++) dispatch_sync_f(concurrent, &plain, count);
}

static void barrier_sync_f(long n) {
  for (long i = 0; i < n; i++) dispatch_barrier_sync_f(concurrent, &plain, count);
}

// MARK: Hops

static dispatch_queue_t sides[2];
static dispatch_semaphore_t hopped;
static _Atomic long left;

static void hop(void *context) {
  long side = (long)context;
  if (atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed) <= 1) {
    dispatch_semaphore_signal(hopped);
    return;
  }
  dispatch_async_f(sides[1 - side], (void *)(1 - side), hop);
}

static void ping_pong(long n) {
  left = n;
  dispatch_async_f(sides[0], (void *)0, hop);
  dispatch_semaphore_wait(hopped, DISPATCH_TIME_FOREVER);
}

// MARK: Objects

static void queue_life(long n) {
  for (long i = 0; i < n; i++) dispatch_release(dispatch_queue_create("life", NULL));
}

static void retain_release(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_retain(serial);
    dispatch_release(serial);
  }
}

/// A program that does next to nothing with the library; prints the most memory that it had.
static int start(void) {
  dispatch_sync_f(dispatch_get_global_queue(0, 0), NULL, nothing);
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) printf("%ld\n", strtol(line + 6, NULL, 10));
  }
  return 0;
}

int main(int words, char **arguments) {
  if (words > 1 && strcmp(arguments[1], "start") == 0) return start();
  if (words > 1) scale = (unsigned)strtoul(arguments[1], NULL, 10);
  if (scale == 0) return 2;
  if (words > 2 && strcmp(arguments[2], "waits") == 0) {
    wait_rows();
    return 0;
  }
  serial = dispatch_queue_create("serial", NULL);
  concurrent = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  global = dispatch_get_global_queue(0, 0);
  group = dispatch_group_create();
  sides[0] = dispatch_queue_create("ping", NULL);
  sides[1] = dispatch_queue_create("pong", NULL);
  hopped = dispatch_semaphore_create(0);

  measure("dispatch_async_f, serial", 100000 * scale, async_f);
  measure("dispatch_async_f, submitting alone", 100000 * scale, async_f_enqueue);
  measure("dispatch_async, serial", 100000 * scale, async_block);
  measure("dispatch_barrier_async_f", 100000 * scale, barrier_async_f);
  measure("dispatch_group_async_f, global", 150000 * scale, group_async_f);
  measure("dispatch_group_async_f, serial", 200000 * scale, group_async_f_serial);
  measure("dispatch_sync_f", 400000 * scale, sync_f);
  measure("dispatch_sync", 400000 * scale, sync_block);
  measure("dispatch_sync_f, concurrent", 400000 * scale, sync_f_concurrent);
  measure("dispatch_barrier_sync_f", 400000 * scale, barrier_sync_f);
  measure("two queues in turn, per hop", 20000 * scale, ping_pong);
  measure("dispatch_queue_create and release", 50000 * scale, queue_life);
  measure("dispatch_retain and release", 400000 * scale, retain_release);
  coordination_rows();
  wait_rows();
  event_rows();
}
