//===- Alarms.c - alarm and setitimer -----------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The process's timer of real time: its signal is sent at a virtual instant.
// As with any other signal, its handler may run on a thread that has no turn,
// and no wait of the simulation is ended by it.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static GCS_REAL(unsigned, alarm, (unsigned seconds), (seconds))
static GCS_REAL(useconds_t, ualarm, (useconds_t time, useconds_t interval), (time, interval))
static GCS_REAL(
    int, setitimer, (__itimer_which_t which, const struct itimerval *wish, struct itimerval *former),
    (which, wish, former))
static GCS_REAL(int, getitimer, (__itimer_which_t which, struct itimerval *left), (which, left))

static const uint64_t SECOND = 1000000000;

/// UINT64_MAX is never.
static uint64_t instant = UINT64_MAX;
static uint64_t interval;

uint64_t gcs_alarm_next(void) { return instant; }

/// What it was set to before: 0 if it was not.
static uint64_t set(uint64_t time, uint64_t new_interval) {
  uint64_t now = gcs_now(), left = instant == UINT64_MAX ? 0 : instant > now ? instant - now : 1;
  instant = time == 0 ? UINT64_MAX : time > UINT64_MAX - now ? UINT64_MAX : now + time;
  interval = new_interval;
  return left;
}

bool gcs_alarm_expire(void) {
  if (instant > gcs_now()) return false;
  instant = interval == 0 || interval > UINT64_MAX - instant ? UINT64_MAX : instant + interval;
  gcs_send_aside(SIGALRM);
  return true;
}

// MARK: What the program asks for

static bool is_time(const struct timeval *time) {
  return time->tv_sec >= 0 && time->tv_usec >= 0 && time->tv_usec < 1000000;
}

static uint64_t of(const struct timeval *time) {
  return gcs_nanoseconds(&(struct timespec){.tv_sec = time->tv_sec, .tv_nsec = time->tv_usec * 1000});
}

static struct timeval to(uint64_t nanoseconds) {
  // Less than a microsecond is not nothing.
  uint64_t microseconds = nanoseconds / 1000 + (nanoseconds % 1000 != 0);
  return (struct timeval){.tv_sec = (time_t)(microseconds / 1000000), .tv_usec = (suseconds_t)(microseconds % 1000000)};
}

unsigned alarm(unsigned seconds) {
  if (!gcs_is_simulated()) return __wrap_alarm(seconds);
  uint64_t left = set(seconds * SECOND, 0);
  // To the nearest second, and at least one.
  return (unsigned)(left == 0 ? 0 : left < SECOND ? 1 : (left + SECOND / 2) / SECOND);
}

useconds_t ualarm(useconds_t time, useconds_t new_interval) {
  if (!gcs_is_simulated()) return __wrap_ualarm(time, new_interval);
  return (useconds_t)((set(time * 1000ul, new_interval * 1000ul) + 999) / 1000);
}

int setitimer(__itimer_which_t which, const struct itimerval *restrict wish, struct itimerval *restrict former) {
  bool is_ours = which == ITIMER_REAL && wish != NULL && is_time(&wish->it_value) && is_time(&wish->it_interval);
  if (!gcs_is_simulated() || !is_ours) return __wrap_setitimer(which, wish, former);
  struct timeval old_interval = to(interval);
  uint64_t left = set(of(&wish->it_value), of(&wish->it_interval));
  if (former != NULL) *former = (struct itimerval){.it_value = to(left), .it_interval = old_interval};
  return 0;
}

int getitimer(__itimer_which_t which, struct itimerval *left) {
  if (!gcs_is_simulated() || which != ITIMER_REAL || left == NULL) return __wrap_getitimer(which, left);
  gcs_relax(1);
  uint64_t now = gcs_now();
  left->it_interval = to(interval);
  left->it_value = to(instant == UINT64_MAX ? 0 : instant > now ? instant - now : 1);
  return 0;
}
