//===- Select.c - select and pselect ------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A select is a poll whose descriptors come as sets.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Polls.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

static GCS_REAL(
    int, select, (int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *time), (count, in, out, bad, time))
static GCS_REAL(
    int, pselect,
    (int count, fd_set *in, fd_set *out, fd_set *bad, const struct timespec *time, const sigset_t *mask),
    (count, in, out, bad, time, mask))

static const uint64_t SECOND = 1000000000;

// A program may have longer sets than the type says.

static bool has(const fd_set *set, int descriptor) {
  return set != NULL && (__FDS_BITS(set)[descriptor / NFDBITS] >> (descriptor % NFDBITS) & 1) != 0;
}

static int put(fd_set *set, int descriptor, bool is_ready) {
  if (!has(set, descriptor)) return 0;
  if (!is_ready) __FDS_BITS(set)[descriptor / NFDBITS] &= ~(1L << (descriptor % NFDBITS));
  return is_ready;
}

// As the kernel has it.
enum {
  IN = POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR,
  OUT = POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR,
  BAD = POLLPRI,
};

static int wait_for_sets(int count, fd_set *in, fd_set *out, fd_set *bad, uint64_t timeout, const sigset_t *mask) {
  size_t room = (size_t)count;
  struct lists {
    struct pollfd *polled;
    short *wanted;
    int *numbers;
  } lists = {malloc(room * sizeof(struct pollfd) + 1), malloc(room * sizeof(short) + 1), malloc(room * sizeof(int) + 1)};
  if (lists.polled == NULL || lists.wanted == NULL || lists.numbers == NULL) abort();
  nfds_t used = 0;
  for (int descriptor = 0; descriptor < count; descriptor += 1) {
    int wanted = (has(in, descriptor) ? IN : 0) | (has(out, descriptor) ? OUT : 0) | (has(bad, descriptor) ? BAD : 0);
    if (wanted == 0) continue;
    lists.polled[used] = (struct pollfd){.fd = descriptor, .events = (short)wanted};
    lists.wanted[used] = (short)wanted;
    lists.numbers[used] = descriptor;
    used += 1;
  }
  int result, error;
  pthread_cleanup_push(free, lists.polled);
  pthread_cleanup_push(free, lists.wanted);
  pthread_cleanup_push(free, lists.numbers);
  struct gcs_watch watch = {.polled = lists.polled, .count = used, .wanted = lists.wanted};
  result = gcs_wait_for(&(struct gcs_poll){.watch = &watch, .mask = mask}, timeout);
  int bits = 0;
  error = errno;
  bool was_polled = result >= 0;
  for (nfds_t index = 0; result >= 0 && index < used; index += 1) {
    if ((lists.polled[index].revents & POLLNVAL) != 0) result = -1;
  }
  for (nfds_t index = 0; result >= 0 && index < used; index += 1) {
    int events = lists.polled[index].revents, descriptor = lists.numbers[index];
    bits += put(in, descriptor, events & IN) + put(out, descriptor, events & OUT) + put(bad, descriptor, events & BAD);
  }
  if (result < 0 && was_polled) error = EBADF;
  if (result >= 0) result = bits;
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(1);
  errno = error;
  return result;
}

static bool is_sleep(int count, const fd_set *in, const fd_set *out, const fd_set *bad) {
  return count == 0 || (in == NULL && out == NULL && bad == NULL);
}

static bool is_count(int count) { return count >= 0 && count <= 1 << 20; }

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, struct timeval *restrict time) {
  bool is_timeout = time == NULL || (time->tv_sec >= 0 && time->tv_usec >= 0);
  if (!gcs_is_simulated() || !is_timeout || !is_count(count)) return __wrap_select(count, in, out, bad, time);
  GCS_DESCRIPTOR_POINT();
  uint64_t begin = gcs_now(), timeout = UINT64_MAX;
  if (time != NULL) {
    struct timespec wish = {time->tv_sec + time->tv_usec / 1000000, time->tv_usec % 1000000 * 1000};
    timeout = gcs_nanoseconds(&wish);
  }
  int result = 0;
  if (is_sleep(count, in, out, bad)) {
    gcs_rest(timeout);
  } else {
    result = wait_for_sets(count, in, out, bad, timeout, NULL);
  }
  if (time != NULL) {
    uint64_t past = gcs_now() - begin, left = past < timeout ? timeout - past : 0;
    *time = (struct timeval){(time_t)(left / SECOND), (suseconds_t)(left % SECOND / 1000)};
  }
  return result;
}

int pselect(
    int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, const struct timespec *restrict time,
    const sigset_t *restrict mask) {
  bool is_timeout = time == NULL || (time->tv_sec >= 0 && gcs_is_deadline(time));
  if (!gcs_is_simulated() || !is_timeout || !is_count(count)) return __wrap_pselect(count, in, out, bad, time, mask);
  GCS_DESCRIPTOR_POINT();
  uint64_t timeout = time == NULL ? UINT64_MAX : gcs_nanoseconds(time);
  if (is_sleep(count, in, out, bad) && mask == NULL) return gcs_rest(timeout), 0;
  if (is_sleep(count, in, out, bad)) in = out = bad = NULL;
  return wait_for_sets(count, in, out, bad, timeout, mask);
}
