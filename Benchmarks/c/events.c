// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Time and descriptors.

#include "meter.h"

#include <sys/socket.h>

static dispatch_queue_t queue;
static dispatch_semaphore_t done;
static _Atomic long fired;
static long expected;

static void fire(void *context) {
  (void)context;
  if (atomic_fetch_add_explicit(&fired, 1, memory_order_relaxed) + 1 == expected) dispatch_semaphore_signal(done);
}

/// Deadlines from 1 to 21 ms from now; counted is the work, not the waiting: see the processor time.
static void after_f(long n) {
  uint32_t random = 12345;
  expected = n;
  fired = 0;
  for (long i = 0; i < n; i++) {
    random = random * 1664525u + 1013904223u;
    dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, (int64_t)(1000000 + random % 20000000)), queue, NULL, fire);
  }
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
}

static dispatch_source_t timer;
static long ticks;

static void tick(void *context) {
  if (++ticks == *(long *)context) {
    dispatch_source_cancel(timer);
    dispatch_semaphore_signal(done);
  }
}

static void timer_ticks(long n) {
  ticks = 0;
  timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  dispatch_set_context(timer, &n);
  dispatch_source_set_event_handler_f(timer, tick);
  dispatch_source_set_timer(timer, DISPATCH_TIME_NOW, NSEC_PER_MSEC, 0);
  dispatch_resume(timer);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_sync_f(queue, NULL, fire);
  dispatch_release(timer);
}

static void timer_lives(long n) {
  for (long i = 0; i < n; i++) {
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
    dispatch_source_set_event_handler_f(source, tick);
    dispatch_source_set_timer(source, dispatch_time(DISPATCH_TIME_NOW, 100 * (int64_t)NSEC_PER_SEC), NSEC_PER_SEC, 0);
    dispatch_resume(source);
    dispatch_source_cancel(source);
    dispatch_release(source);
  }
  dispatch_sync_f(queue, NULL, fire);
}

// MARK: Descriptors

static int ends[2];

static void echo(void *context) {
  (void)context;
  char buffer[64];
  ssize_t count = read(ends[1], buffer, sizeof buffer);
  if (count > 0) expect(write(ends[1], buffer, (size_t)count) == count, "cannot echo");
}

static void echoes(long n) {
  char byte = 'x';
  for (long i = 0; i < n; i++) {
    expect(write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "no echo");
  }
}

static long received;

static void receive(void *context) {
  char byte;
  if (read(ends[1], &byte, 1) == 1 && ++received == *(long *)context) dispatch_semaphore_signal(done);
}

static void stream(long n) {
  received = 0;
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[1], 0, queue);
  dispatch_set_context(source, &n);
  dispatch_source_set_event_handler_f(source, receive);
  dispatch_resume(source);
  char bytes[256] = {0};
  for (long sent = 0; sent < n;) {
    ssize_t count = write(ends[0], bytes, (size_t)(n - sent < 256 ? n - sent : 256));
    if (count > 0) sent += count;
  }
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_source_cancel(source);
  dispatch_release(source);
  dispatch_sync_f(queue, NULL, fire);
}

void event_rows(void) {
  queue = dispatch_queue_create("events", NULL);
  done = dispatch_semaphore_create(0);
  measure("dispatch_after_f", 5000 * scale, after_f);
  measure("timer source, per tick of 1 ms", 60 * scale, timer_ticks);
  measure("timer source, its life", 40000 * scale, timer_lives);

  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no socket pair");
  measure("read source, per event of a stream", 5000 * scale, stream);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[1], 0, queue);
  dispatch_source_set_event_handler_f(source, echo);
  dispatch_resume(source);
  measure("read source, there and back", 6000 * scale, echoes);
  dispatch_source_cancel(source);
  dispatch_release(source);
}
