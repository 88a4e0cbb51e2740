//===- Timers.c - timers by descriptors ---------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A timer's descriptor stays what it is, so that polls and epolls know it. It
// is never armed, but for the moment at which its virtual instant has come.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

GCS_REAL(int, timerfd_create, (int clock, int flags), (clock, flags))
GCS_REAL(
    int, timerfd_settime,
    (int descriptor, int flags, const struct itimerspec *wish, struct itimerspec *former),
    (descriptor, flags, wish, former))
static GCS_REAL(int, timerfd_gettime, (int descriptor, struct itimerspec *left), (descriptor, left))

enum { UNKNOWN = -1 };

struct timer {
  /// UNKNOWN where it was made by a thread that takes no part, or before `main`.
  clockid_t clock;
  /// UINT64_MAX is never.
  uint64_t instant;
  uint64_t interval;
  /// How often it has expired since that was read.
  uint64_t expirations;
  /// One that has expired makes nothing ready again until it is read, or its time is asked for.
  bool is_armed;
  unsigned numbers;
};

/// One of its descriptors.
struct number {
  int descriptor;
  struct timer *timer;
  struct number *next;
};

static struct number *numbers;

static struct number **place_of(int descriptor) {
  struct number **place = &numbers;
  while (*place != NULL && (*place)->descriptor != descriptor) place = &(*place)->next;
  return place;
}

static struct timer *timer_of(int descriptor) {
  struct number *found = *place_of(descriptor);
  return found == NULL ? NULL : found->timer;
}

static void add(int descriptor, struct timer *timer) {
  gcs_timer_number_goes(descriptor);
  struct number *new = malloc(sizeof *new);
  if (new == NULL) abort();
  *new = (struct number){.descriptor = descriptor, .timer = timer, .next = numbers};
  numbers = new;
  timer->numbers += 1;
}

static struct timer *make(int descriptor, clockid_t clock) {
  struct timer *timer = malloc(sizeof *timer);
  if (timer == NULL) abort();
  *timer = (struct timer){.clock = clock, .instant = UINT64_MAX};
  add(descriptor, timer);
  return timer;
}

void gcs_timer_copied(int from, int to) {
  struct timer *timer = timer_of(from);
  if (timer != NULL && from != to) add(to, timer);
}

void gcs_timer_number_goes(int descriptor) {
  struct number **place = place_of(descriptor), *found = *place;
  if (found == NULL) return;
  *place = found->next;
  found->timer->numbers -= 1;
  if (found->timer->numbers == 0) free(found->timer);
  free(found);
}

// MARK: Expiration

static uint64_t sum(uint64_t one, uint64_t other) { return one > UINT64_MAX - other ? UINT64_MAX : one + other; }

static bool has_expired(int descriptor, int milliseconds) {
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  return __wrap_poll(&polled, 1, milliseconds) == 1 && polled.revents == POLLIN;
}

/// Polls of the descriptor see it, and epolls that want each change. False if it is no timer's any more.
static bool expire(int descriptor) {
  struct itimerspec past = {.it_value = {.tv_nsec = 1}};
  return __wrap_timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &past, NULL) == 0 && has_expired(descriptor, 1000);
}

static void expire_if_due(struct number *number, uint64_t now) {
  struct timer *timer = number->timer;
  if (!timer->is_armed || timer->instant > now) return;
  timer->is_armed = false;
  timer->expirations += 1;
  timer->instant = timer->interval == 0 ? UINT64_MAX : sum(timer->instant, timer->interval);
  if (!expire(number->descriptor)) gcs_timer_number_goes(number->descriptor);
}

/// Counts how often it would have expired, and has it expire again.
static void arm_again(struct timer *timer, uint64_t now) {
  if (timer->is_armed || timer->interval == 0) return;
  uint64_t more = timer->instant > now ? 0 : 1 + (now - timer->instant) / timer->interval;
  timer->expirations += more;
  timer->instant = sum(timer->instant, more * timer->interval);
  timer->is_armed = timer->instant != UINT64_MAX;
}

static void expire_due(void) {
  uint64_t now = gcs_now();
  for (struct number *number = numbers, *next; number != NULL; number = next) {
    next = number->next;
    expire_if_due(number, now);
  }
}

bool gcs_time_has_passed(void) {
  int kept = errno;
  bool is_due = gcs_timer_next() <= gcs_now();
  if (is_due) expire_due();
  if (!gcs_alarm_expire() && !is_due) return false;
  gcs_look();
  errno = kept;
  return true;
}

uint64_t gcs_timer_next(void) {
  uint64_t soonest = UINT64_MAX;
  for (struct number *number = numbers; number != NULL; number = number->next) {
    struct timer *timer = number->timer;
    if (timer->is_armed && timer->instant < soonest) soonest = timer->instant;
  }
  return soonest;
}

uint64_t gcs_timer_take(int descriptor) {
  struct timer *timer = timer_of(descriptor);
  if (timer == NULL) return 0;
  arm_again(timer, gcs_now());
  uint64_t expirations = timer->expirations;
  timer->expirations = 0;
  return expirations;
}

// MARK: What the program asks for

static void read_timer(struct timer *timer, struct itimerspec *left) {
  uint64_t now = gcs_now();
  arm_again(timer, now);
  uint64_t instant = timer->instant;
  left->it_interval = gcs_time_of(timer->interval);
  left->it_value = gcs_time_of(instant == UINT64_MAX ? 0 : instant > now ? instant - now : 1);
}

static uint64_t instant_of(const struct timer *timer, const struct timespec *time) {
  if (timer->clock != UNKNOWN) return gcs_instant(timer->clock, time);
  // The wall clock is ahead by decades.
  return gcs_instant(gcs_nanoseconds(time) < gcs_wall_distance() ? CLOCK_MONOTONIC : CLOCK_REALTIME, time);
}

int timerfd_create(int clock, int flags) {
  int descriptor = __wrap_timerfd_create(clock, flags);
  if (descriptor >= 0 && gcs_is_simulated()) make(descriptor, clock);
  return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *wish, struct itimerspec *former) {
  if (!gcs_is_simulated()) return __wrap_timerfd_settime(descriptor, flags, wish, former);
  // The kernel looks at what is asked for, and takes back what has come.
  if (__wrap_timerfd_settime(descriptor, flags, wish, former) != 0) return -1;
  __wrap_timerfd_settime(descriptor, 0, &(struct itimerspec){0}, NULL);
  struct timer *timer = timer_of(descriptor);
  if (timer == NULL) timer = make(descriptor, UNKNOWN);
  if (former != NULL) read_timer(timer, former);
  uint64_t value = gcs_nanoseconds(&wish->it_value), now = gcs_now();
  uint64_t instant = (flags & TFD_TIMER_ABSTIME) != 0 ? instant_of(timer, &wish->it_value) : sum(now, value);
  timer->interval = gcs_nanoseconds(&wish->it_interval);
  timer->instant = value == 0 ? UINT64_MAX : instant;
  timer->expirations = 0;
  timer->is_armed = timer->instant != UINT64_MAX;
  if (timer->instant <= now) {
    expire_due();
    gcs_descriptors_changed(false);
  }
  return 0;
}

int timerfd_gettime(int descriptor, struct itimerspec *left) {
  struct timer *timer = gcs_is_simulated() ? timer_of(descriptor) : NULL;
  if (timer == NULL) return __wrap_timerfd_gettime(descriptor, left);
  gcs_relax(1);
  read_timer(timer, left);
  return 0;
}
