//===- SignalWaits.c - threads that wait for signals --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Signals that are blocked stay pending in the kernel. A thread that waits
// for one takes it without waiting, or waits in the simulation until a signal
// is sent. Another process may send one at any time: where all wait for ever
// and one of them waits for a signal, that is an escape.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static GCS_REAL(
    int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time), (set, info, time))
static GCS_REAL(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
static GCS_REAL(int, sigwait, (const sigset_t *set, int *number), (set, number))

/// How many wait. Also read by the thread that reports.
static unsigned waiting;

bool gcs_awaits_signals(void) { return __atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0; }

void gcs_signal_sent(void) { gcs_wake(&waiting, INT32_MAX, false); }

static void add(int change) { __atomic_fetch_add(&waiting, (unsigned)change, __ATOMIC_RELAXED); }

static int wait_for(const sigset_t *set, siginfo_t *info, uint64_t deadline) {
  pthread_testcancel();
  while (true) {
    int number = __wrap_sigtimedwait(set, info, &(struct timespec){0});
    if (number >= 0 || errno != EAGAIN) return number;
    if (gcs_now() >= deadline) return errno = EAGAIN, -1;
    add(1);
    gcs_count_step();
    gcs_wait_described_cancellable(&waiting, "waits for a signal", deadline);
    add(-1);
    pthread_testcancel();
  }
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict time) {
  bool is_time = time == NULL || (time->tv_sec >= 0 && gcs_is_deadline(time));
  if (!gcs_is_simulated() || !is_time) return __wrap_sigtimedwait(set, info, time);
  GCS_POINT();
  uint64_t now = gcs_now(), length = time == NULL ? UINT64_MAX : gcs_nanoseconds(time);
  return wait_for(set, info, length > UINT64_MAX - now ? UINT64_MAX : now + length);
}

int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
  if (!gcs_is_simulated()) return __wrap_sigwaitinfo(set, info);
  GCS_POINT();
  return wait_for(set, info, UINT64_MAX);
}

int sigwait(const sigset_t *restrict set, int *restrict number) {
  if (!gcs_is_simulated()) return __wrap_sigwait(set, number);
  GCS_POINT();
  int found;
  // It has no EINTR.
  do found = wait_for(set, NULL, UINT64_MAX);
  while (found < 0 && errno == EINTR);
  if (found < 0) return errno;
  *number = found;
  return 0;
}
