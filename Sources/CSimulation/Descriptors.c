//===- Descriptors.c - polls, and timers by descriptors ----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A poll of descriptors that only this process makes ready (event counters,
// timers, epolls of such) waits in virtual time. Any other one may be ended
// from outside: it waits in the kernel, as it always does.
//
// A timer's descriptor stays what it is, so that epolls know it. It is never
// armed, but for the moment at which its virtual instant has come.
//
// One simulated thread runs at a time, so nothing here needs a lock.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

GCS_REAL(int, poll, (struct pollfd * descriptors, nfds_t count, int milliseconds), (descriptors, count, milliseconds))
static GCS_REAL(
    int, ppoll, (struct pollfd * descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask),
    (descriptors, count, time, mask))
GCS_REAL(
    int, epoll_wait, (int epoll, struct epoll_event *events, int most, int milliseconds),
    (epoll, events, most, milliseconds))
static GCS_REAL(
    int, epoll_pwait, (int epoll, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask),
    (epoll, events, most, milliseconds, mask))
static GCS_REAL(int, eventfd_write, (int descriptor, eventfd_t value), (descriptor, value))
GCS_REAL(int, timerfd_create, (int clock, int flags), (clock, flags))
GCS_REAL(
    int, timerfd_settime,
    (int descriptor, int flags, const struct itimerspec *wish, struct itimerspec *former),
    (descriptor, flags, wish, former))
static GCS_REAL(int, timerfd_gettime, (int descriptor, struct itimerspec *left), (descriptor, left))

static const uint64_t SECOND = 1000000000;

static uint64_t sum(uint64_t one, uint64_t other) { return one > UINT64_MAX - other ? UINT64_MAX : one + other; }

// MARK: Timers

struct timer {
  int descriptor;
  /// UINT64_MAX is never.
  uint64_t instant;
  uint64_t interval;
};

enum { TIMERS = 64 };
static struct timer timers[TIMERS];
static int timer_count;

static struct timer *timer_of(int descriptor) {
  for (int index = 0; index < timer_count; index += 1) {
    if (timers[index].descriptor == descriptor) return &timers[index];
  }
  return NULL;
}

static void drop(struct timer *timer) { *timer = timers[--timer_count]; }

static uint64_t next_instant(void) {
  uint64_t soonest = UINT64_MAX;
  for (int index = 0; index < timer_count; index += 1) {
    if (timers[index].instant < soonest) soonest = timers[index].instant;
  }
  return soonest;
}

/// The descriptor can be read. False if it is no timer's any more.
static bool fire(int descriptor) {
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  if (__wrap_poll(&polled, 1, 0) != 0) return (polled.revents & POLLNVAL) == 0;
  struct itimerspec past = {.it_value = {.tv_nsec = 1}};
  if (__wrap_timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &past, NULL) != 0) return false;
  return __wrap_poll(&polled, 1, 1000) == 1;
}

static void fire_due(void) {
  uint64_t now = gcs_now();
  for (int index = timer_count; index-- > 0;) {
    struct timer *timer = &timers[index];
    if (timer->instant > now) continue;
    if (!fire(timer->descriptor)) {
      drop(timer);
    } else if (timer->interval == 0) {
      timer->instant = UINT64_MAX;
    } else {
      timer->instant = sum(timer->instant, (1 + (now - timer->instant) / timer->interval) * timer->interval);
    }
  }
}

static struct timespec time_of(uint64_t nanoseconds) {
  return (struct timespec){.tv_sec = (time_t)(nanoseconds / SECOND), .tv_nsec = (long)(nanoseconds % SECOND)};
}

static void read_timer(const struct timer *timer, struct itimerspec *left) {
  uint64_t now = gcs_now(), instant = timer->instant;
  left->it_interval = time_of(timer->interval);
  left->it_value = time_of(instant == UINT64_MAX ? 0 : instant > now ? instant - now : 1);
}

int timerfd_create(int clock, int flags) {
  int descriptor = __wrap_timerfd_create(clock, flags);
  // Another timer may have had the number before.
  struct timer *former = descriptor < 0 || !gcs_is_simulated() ? NULL : timer_of(descriptor);
  if (former != NULL) drop(former);
  return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *wish, struct itimerspec *former) {
  struct timer *timer = gcs_is_simulated() ? timer_of(descriptor) : NULL;
  bool is_known = timer != NULL;
  if (!gcs_is_simulated() || (!is_known && timer_count == TIMERS)) {
    return __wrap_timerfd_settime(descriptor, flags, wish, former);
  }
  // The kernel looks at what is asked for, and takes back what has come.
  if (__wrap_timerfd_settime(descriptor, flags, wish, former) != 0) return -1;
  __wrap_timerfd_settime(descriptor, 0, &(struct itimerspec){0}, NULL);
  if (former != NULL && is_known) read_timer(timer, former);
  if (!is_known) timer = &timers[timer_count++];
  timer->descriptor = descriptor;
  timer->interval = gcs_nanoseconds(&wish->it_interval);
  uint64_t value = gcs_nanoseconds(&wish->it_value);
  timer->instant = value == 0                            ? UINT64_MAX
                   : (flags & TFD_TIMER_ABSTIME) != 0 ? gcs_instant(&wish->it_value)
                                                         : sum(gcs_now(), value);
  gcs_end_polls();
  return 0;
}

int timerfd_gettime(int descriptor, struct itimerspec *left) {
  struct timer *timer = gcs_is_simulated() ? timer_of(descriptor) : NULL;
  if (timer == NULL) return __wrap_timerfd_gettime(descriptor, left);
  read_timer(timer, left);
  return 0;
}

int eventfd_write(int descriptor, eventfd_t value) {
  int result = __wrap_eventfd_write(descriptor, value);
  if (gcs_is_simulated()) gcs_end_polls();
  return result;
}

// MARK: What is inside

static bool is_inside(int descriptor, int depth);

/// Whether all that the epoll watches is inside.
static bool watches_inside(int epoll, int depth) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  bool inside = true;
  int descriptor;
  while (inside && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "tfd: %d", &descriptor) == 1) inside = is_inside(descriptor, depth);
  }
  fclose(file);
  return inside;
}

static bool is_inside(int descriptor, int depth) {
  char path[64], target[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = 0;
  if (strcmp(target, "anon_inode:[eventfd]") == 0 || strcmp(target, "anon_inode:[timerfd]") == 0) return true;
  return strcmp(target, "anon_inode:[eventpoll]") == 0 && depth < 5 && watches_inside(descriptor, depth + 1);
}

static bool are_inside(const struct pollfd *descriptors, nfds_t count) {
  for (nfds_t index = 0; index < count; index += 1) {
    if (descriptors[index].fd >= 0 && !is_inside(descriptors[index].fd, 0)) return false;
  }
  return true;
}

// MARK: Polls

struct poll {
  struct pollfd *descriptors;
  nfds_t count;
  int epoll;
  struct epoll_event *events;
  int most;
  const sigset_t *mask;
};

/// For so long, in real time.
static int look(const struct poll *poll, uint64_t nanoseconds) {
  if (poll->descriptors != NULL) {
    struct timespec time = time_of(nanoseconds);
    return __wrap_ppoll(poll->descriptors, poll->count, nanoseconds == UINT64_MAX ? NULL : &time, poll->mask);
  }
  uint64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
  int most = milliseconds > INT32_MAX ? nanoseconds == UINT64_MAX ? -1 : INT32_MAX : (int)milliseconds;
  return __wrap_epoll_pwait(poll->epoll, poll->events, poll->most, most, poll->mask);
}

static int wait_for(const struct poll *poll, bool inside, uint64_t timeout) {
  uint64_t deadline = sum(gcs_now(), timeout);
  while (true) {
    pthread_testcancel();
    fire_due();
    int count = look(poll, 0);
    uint64_t now = gcs_now();
    if (count != 0 || now >= deadline) return timeout == 0 && count == 0 ? gcs_tried(1) - 1 : count;
    uint64_t next = next_instant(), end = next < deadline ? next : deadline;
    if (inside) {
      gcs_await_descriptors(end);
      continue;
    }
    count = look(poll, end == UINT64_MAX ? end : end - now);
    if (count != 0) return count;
    gcs_sleep(end - now);
  }
}

static uint64_t of_milliseconds(int milliseconds) {
  return milliseconds < 0 ? UINT64_MAX : (uint64_t)milliseconds * 1000000;
}

// Without a descriptor it is a sleep.

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
  if (!gcs_is_simulated()) return __wrap_poll(descriptors, count, milliseconds);
  GCS_POINT();
  if (count == 0) return gcs_rest(of_milliseconds(milliseconds)), 0;
  struct poll poll = {.descriptors = descriptors, .count = count};
  return wait_for(&poll, are_inside(descriptors, count), of_milliseconds(milliseconds));
}

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask) {
  bool is_valid = time == NULL || (time->tv_sec >= 0 && gcs_is_deadline(time));
  if (!gcs_is_simulated() || !is_valid) return __wrap_ppoll(descriptors, count, time, mask);
  GCS_POINT();
  uint64_t timeout = time == NULL ? UINT64_MAX : gcs_nanoseconds(time);
  if (count == 0) return gcs_rest(timeout), 0;
  struct poll poll = {.descriptors = descriptors, .count = count, .mask = mask};
  return wait_for(&poll, are_inside(descriptors, count), timeout);
}

int epoll_pwait(int epoll, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask) {
  if (!gcs_is_simulated()) return __wrap_epoll_pwait(epoll, events, most, milliseconds, mask);
  GCS_POINT();
  struct poll poll = {.epoll = epoll, .events = events, .most = most, .mask = mask};
  return wait_for(&poll, is_inside(epoll, 0), of_milliseconds(milliseconds));
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds) {
  if (!gcs_is_simulated()) return __wrap_epoll_wait(epoll, events, most, milliseconds);
  return epoll_pwait(epoll, events, most, milliseconds, NULL);
}
