//===- Time.c - sleeps and clocks --------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

GCS_REAL(int, clock_gettime, (clockid_t clock, struct timespec *time), (clock, time))
GCS_REAL(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
static GCS_REAL(
    int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
    (clock, flags, time, left))
static GCS_REAL(int, gettimeofday, (struct timeval *time, void *zone), (time, zone))
static GCS_REAL(int, timespec_get, (struct timespec * time, int base), (time, base))
GCS_REAL(int, sched_yield, (void), ())
static GCS_REAL(unsigned, sleep, (unsigned seconds), (seconds))
static GCS_REAL(time_t, time, (time_t *place), (place))
static GCS_REAL(int, usleep, (useconds_t microseconds), (microseconds))

static const uint64_t SECOND = 1000000000;

static bool is_valid(const struct timespec *time) {
  return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < (long)SECOND;
}

uint64_t gcs_nanoseconds(const struct timespec *time) {
  uint64_t seconds = (uint64_t)time->tv_sec;
  return seconds > UINT64_MAX / SECOND - 1 ? UINT64_MAX : seconds * SECOND + (uint64_t)time->tv_nsec;
}

struct timespec gcs_time_of(uint64_t nanoseconds) {
  return (struct timespec){.tv_sec = (time_t)(nanoseconds / SECOND), .tv_nsec = (long)(nanoseconds % SECOND)};
}

bool gcs_is_deadline(const struct timespec *time) {
  return time == NULL || (time->tv_nsec >= 0 && time->tv_nsec < (long)SECOND);
}

static bool is_wall(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

uint64_t gcs_instant(clockid_t clock, const struct timespec *time) {
  if (time == NULL) return UINT64_MAX;
  if (time->tv_sec < 0) return 0;
  uint64_t instant = gcs_nanoseconds(time), distance = is_wall(clock) ? gcs_wall_distance() : 0;
  if (instant == UINT64_MAX) return instant;
  return instant < distance ? 0 : instant - distance;
}

// MARK: Sleeps

// A thread that lets others go on may go on itself before they do. One that does so over and over waits until something happens.
static void yield(void) {
  gcs_yield();
  gcs_relax(200);
}

void gcs_rest(uint64_t nanoseconds) {
  if (nanoseconds == 0) {
    pthread_testcancel();
    return yield();
  }
  uint64_t now = gcs_now(), end = nanoseconds > UINT64_MAX - now ? UINT64_MAX : now + nanoseconds;
  pthread_testcancel();
  do {
    gcs_sleep_cancellable(end == UINT64_MAX ? end : end - now);
    pthread_testcancel();
    now = gcs_now();
  } while (now < end);
}

int gcs_nanosleep(const struct timespec *time, struct timespec *left) {
  if (!gcs_is_simulated() || !is_valid(time)) return __wrap_nanosleep(time, left);
  gcs_rest(gcs_nanoseconds(time));
  return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) { return gcs_nanosleep(time, left); }

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
  if (!gcs_is_simulated() || !is_valid(time)) return __wrap_clock_nanosleep(clock, flags, time, left);
  if ((flags & TIMER_ABSTIME) == 0) {
    gcs_rest(gcs_nanoseconds(time));
    return 0;
  }
  uint64_t instant = gcs_instant(clock, time), now = gcs_now();
  gcs_rest(instant > now ? instant - now : 0);
  return 0;
}

int usleep(useconds_t microseconds) {
  if (!gcs_is_simulated()) return __wrap_usleep(microseconds);
  gcs_rest((uint64_t)microseconds * 1000);
  return 0;
}

unsigned sleep(unsigned seconds) {
  if (!gcs_is_simulated()) return __wrap_sleep(seconds);
  gcs_rest(seconds * SECOND);
  return 0;
}

int sched_yield(void) {
  if (!gcs_is_simulated()) return __wrap_sched_yield();
  yield();
  return 0;
}

// MARK: Clocks

void gcs_relax(unsigned weight) {
  enum { SLOWNESS = 64 };
  static _Thread_local uint64_t last_instant;
  static _Thread_local unsigned count, growth;
  static const uint64_t shortest = 1000, longest = 1000000;
  uint64_t instant = gcs_now();
  // Time has passed only if the thread has waited since then.
  if (instant != last_instant) count = growth = 0;
  last_instant = instant;
  count += weight;
  if (count < 1000) return;
  count = 0;
  uint64_t length = shortest << (growth / SLOWNESS);
  // A thread that looks at a clock, or takes what is free, may as well compute.
  if (length < longest) growth += weight == 1 ? 1 : SLOWNESS;
  else length = longest;
  gcs_sleep(length);
  last_instant = gcs_now();
}

/// Whether the clock is one of a simulation, and then what it says.
static bool read_clock(clockid_t clock, struct timespec *time) {
  uint64_t distance = 0;
  switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME: break;
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: distance = gcs_wall_distance(); break;
    default: return false;
  }
  gcs_relax(1);
  uint64_t instant = gcs_now() + distance;
  time->tv_sec = (time_t)(instant / SECOND);
  time->tv_nsec = (long)(instant % SECOND);
  return true;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (gcs_is_simulated() && read_clock(clock, time)) return 0;
  return __wrap_clock_gettime(clock, time);
}

int timespec_get(struct timespec *time, int base) {
  if (base != TIME_UTC || !gcs_is_simulated() || !read_clock(CLOCK_REALTIME, time)) return __wrap_timespec_get(time, base);
  return base;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec seen;
  if (!gcs_is_simulated() || !read_clock(CLOCK_REALTIME, &seen)) return __wrap_gettimeofday(time, zone);
  time->tv_sec = seen.tv_sec;
  time->tv_usec = (suseconds_t)(seen.tv_nsec / 1000);
  // The C library knows of none either.
  if (zone != NULL) *(struct timezone *)zone = (struct timezone){0};
  return 0;
}

time_t time(time_t *place) {
  struct timespec seen;
  if (!gcs_is_simulated() || !read_clock(CLOCK_REALTIME, &seen)) return __wrap_time(place);
  if (place != NULL) *place = seen.tv_sec;
  return seen.tv_sec;
}
