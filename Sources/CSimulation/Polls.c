//===- Polls.c - poll, select, epoll ------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A poll of descriptors that only this process makes ready waits in virtual
// time. Where others can make a part of them ready as well, they are waited for
// in real time once no thread of the program can go on. A poll of what is all
// outside waits in the kernel, as it always does.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"
#include "Polls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

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
static GCS_REAL(
    int, epoll_pwait2,
    (int epoll, struct epoll_event *events, int most, const struct timespec *time, const sigset_t *mask),
    (epoll, events, most, time, mask))
static GCS_REAL(
    int, epoll_ctl, (int epoll, int operation, int descriptor, struct epoll_event *event),
    (epoll, operation, descriptor, event))

_Noreturn void __chk_fail(void);

// MARK: One look

static int look_at_list(const struct gcs_poll *poll, uint64_t nanoseconds) {
  const struct gcs_watch *watch = poll->watch;
  struct timespec time = gcs_time_of(nanoseconds);
  int count = __wrap_ppoll(watch->polled, watch->count, nanoseconds == UINT64_MAX ? NULL : &time, poll->mask);
  return count <= 0 ? count : gcs_count_ready(watch->polled, watch->count, watch->wanted);
}

static int look_at_epoll(const struct gcs_poll *poll, uint64_t nanoseconds) {
  uint64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
  int longest = milliseconds > INT32_MAX ? nanoseconds == UINT64_MAX ? -1 : INT32_MAX : (int)milliseconds;
  int count = __wrap_epoll_pwait(poll->watch->polled->fd, poll->events, poll->most, longest, poll->mask);
  if (count != 0 || nanoseconds != 0 || poll->mask == NULL) return count;
  // A look that takes no time lets no signal through.
  return look_at_list(poll, 0) < 0 ? -1 : 0;
}

/// For so long, in real time.
static int look(const struct gcs_poll *poll, uint64_t nanoseconds) {
  return poll->events == NULL ? look_at_list(poll, nanoseconds) : look_at_epoll(poll, nanoseconds);
}

static unsigned sides_of(const struct gcs_watch *watch) {
  unsigned sides = 0;
  for (nfds_t index = 0; index < watch->count; index += 1) {
    if (watch->polled[index].fd >= 0) sides |= gcs_sides_of(watch->polled[index].fd);
  }
  return sides;
}

static void describe(const struct gcs_watch *watch, char *words, size_t room) {
  size_t length = (size_t)snprintf(words, room, "waits for descriptors");
  const char *link = ": ";
  for (nfds_t index = 0; index < watch->count && length < room; index += 1) {
    int descriptor = watch->polled[index].fd;
    if (descriptor < 0) continue;
    const char *name = gcs_name_of(gcs_place_of(descriptor));
    length += (size_t)snprintf(words + length, room - length, "%s%d, %s", link, descriptor, name);
    link = "; ";
  }
}

// MARK: The wait

/// A thread for which something is always ready may wait in a loop for something else.
static int found_at_once(int count) {
  int kept = errno;
  gcs_relax(count == 0 ? 20 : 5);
  errno = kept;
  return count;
}

static int wait_for(const struct gcs_poll *poll, uint64_t timeout) {
  uint64_t begin = gcs_now(), now = begin, deadline = timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
  while (true) {
    pthread_testcancel();
    int count = look(poll, 0);
    now = gcs_now();
    if (count != 0 || now >= deadline) return now == begin ? found_at_once(count) : count;
    unsigned sides = sides_of(poll->watch);
    if (sides != GCS_HAS_OUTSIDE) {
      poll->watch->is_mixed = (sides & GCS_HAS_OUTSIDE) != 0;
      char words[256];
      describe(poll->watch, words, sizeof words);
      gcs_watch_wait(poll->watch, words, deadline);
      continue;
    }
    uint64_t next = gcs_timer_next(), end = next < deadline ? next : deadline;
    count = look(poll, end == UINT64_MAX ? end : end - now);
    if (count != 0) return count;
    gcs_sleep(end - now);
  }
}

int gcs_wait_for(const struct gcs_poll *poll, uint64_t timeout) {
  int result;
  poll->watch->asks_itself = poll->mask != NULL;
  pthread_cleanup_push(gcs_unwatch, poll->watch);
  result = wait_for(poll, timeout);
  pthread_cleanup_pop(1);
  return result;
}

static uint64_t of_milliseconds(int milliseconds) {
  return milliseconds < 0 ? UINT64_MAX : (uint64_t)milliseconds * 1000000;
}

// MARK: poll

/// The program's list stays as it is until the end, whatever becomes of the numbers meanwhile.
static int wait_for_list(struct pollfd *list, nfds_t count, uint64_t timeout, const sigset_t *mask) {
  // Without a descriptor it is a sleep.
  if (count == 0 && mask == NULL) return gcs_rest(timeout), 0;
  struct pollfd few[16], *copy = few;
  struct pollfd *longer = NULL;
  if (count > sizeof few / sizeof few[0] && (copy = longer = malloc(count * sizeof *copy)) == NULL) {
    return errno = ENOMEM, -1;
  }
  memcpy(copy, list, count * sizeof *copy);
  struct gcs_watch watch = {.polled = copy, .count = count};
  int result, error;
  pthread_cleanup_push(free, longer);
  result = gcs_wait_for(&(struct gcs_poll){.watch = &watch, .mask = mask}, timeout);
  for (nfds_t index = 0; result >= 0 && index < count; index += 1) list[index].revents = copy[index].revents;
  error = errno;
  pthread_cleanup_pop(1);
  errno = error;
  return result;
}

/// Whether the list is one that the kernel takes.
static bool is_list(const struct pollfd *list, nfds_t count) { return count == 0 || (list != NULL && count <= 1 << 20); }

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
  if (!gcs_is_simulated() || !is_list(descriptors, count)) return __wrap_poll(descriptors, count, milliseconds);
  GCS_DESCRIPTOR_POINT();
  return wait_for_list(descriptors, count, of_milliseconds(milliseconds), NULL);
}

int __poll_chk(struct pollfd *descriptors, nfds_t count, int milliseconds, size_t room) {
  if (room / sizeof *descriptors < count) __chk_fail();
  if (!gcs_is_simulated() || !is_list(descriptors, count)) return __wrap_poll(descriptors, count, milliseconds);
  GCS_DESCRIPTOR_POINT();
  return wait_for_list(descriptors, count, of_milliseconds(milliseconds), NULL);
}

static bool is_timeout(const struct timespec *time) {
  return time == NULL || (time->tv_sec >= 0 && gcs_is_deadline(time));
}

static uint64_t of_time(const struct timespec *time) { return time == NULL ? UINT64_MAX : gcs_nanoseconds(time); }

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask) {
  if (!gcs_is_simulated() || !is_timeout(time) || !is_list(descriptors, count)) {
    return __wrap_ppoll(descriptors, count, time, mask);
  }
  GCS_DESCRIPTOR_POINT();
  return wait_for_list(descriptors, count, of_time(time), mask);
}

int __ppoll_chk(
    struct pollfd *descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask, size_t room) {
  if (room / sizeof *descriptors < count) __chk_fail();
  if (!gcs_is_simulated() || !is_timeout(time) || !is_list(descriptors, count)) {
    return __wrap_ppoll(descriptors, count, time, mask);
  }
  GCS_DESCRIPTOR_POINT();
  return wait_for_list(descriptors, count, of_time(time), mask);
}

// MARK: epoll

static int wait_for_epoll(int epoll, struct epoll_event *events, int most, uint64_t timeout, const sigset_t *mask) {
  struct pollfd polled = {.fd = epoll, .events = POLLIN};
  struct gcs_watch watch = {.polled = &polled, .count = 1};
  return gcs_wait_for(&(struct gcs_poll){.watch = &watch, .events = events, .most = most, .mask = mask}, timeout);
}

int epoll_pwait(int epoll, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask) {
  if (!gcs_is_simulated() || events == NULL) return __wrap_epoll_pwait(epoll, events, most, milliseconds, mask);
  GCS_DESCRIPTOR_POINT();
  return wait_for_epoll(epoll, events, most, of_milliseconds(milliseconds), mask);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds) {
  if (!gcs_is_simulated() || events == NULL) return __wrap_epoll_wait(epoll, events, most, milliseconds);
  GCS_DESCRIPTOR_POINT();
  return wait_for_epoll(epoll, events, most, of_milliseconds(milliseconds), NULL);
}

int epoll_pwait2(
    int epoll, struct epoll_event *events, int most, const struct timespec *time, const sigset_t *mask) {
  if (!gcs_is_simulated() || events == NULL || !is_timeout(time)) {
    return __wrap_epoll_pwait2(epoll, events, most, time, mask);
  }
  GCS_DESCRIPTOR_POINT();
  return wait_for_epoll(epoll, events, most, of_time(time), mask);
}

/// What an epoll watches newly may be ready already; and others than the process may make it so, for a thread that waits already.
int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
  int result = __wrap_epoll_ctl(epoll, operation, descriptor, event);
  if (result != 0 || operation == EPOLL_CTL_DEL || !gcs_is_simulated()) return result;
  if ((gcs_sides_of(descriptor) & GCS_HAS_OUTSIDE) != 0) gcs_watches_let_go();
  gcs_descriptors_changed(false);
  return result;
}
