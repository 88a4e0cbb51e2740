//===- SignalWaits.c - threads that wait for signals --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Signals that are blocked stay pending in the kernel. A thread that waits
// for one takes it without waiting, or waits in the simulation until a signal
// is sent. Another process may send one at any time: where all wait for ever
// and one of them waits for a signal, that is an escape.
//
// A thread that waits for a handler (sigsuspend, pause) blocks all signals in
// between, and lets them through where it looks. So the handler runs on it,
// while it has the turn.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static GCS_REAL(
    int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *time), (set, info, time))
static GCS_REAL(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
static GCS_REAL(int, sigwait, (const sigset_t *set, int *number), (set, number))
static GCS_REAL(int, sigsuspend, (const sigset_t *mask), (mask))
static GCS_REAL(int, pause, (void), ())
static GCS_REAL(
    int, ppoll, (struct pollfd * descriptors, nfds_t count, const struct timespec *time, const sigset_t *mask),
    (descriptors, count, time, mask))

/// How many wait. Also read by the thread that reports.
static unsigned waiting;

bool gcs_awaits_signals(void) { return __atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0; }

void gcs_signal_sent(void) {
  gcs_wake(&waiting, INT32_MAX, false);
  gcs_handlers_posted();
}

static void add(int change) { __atomic_fetch_add(&waiting, (unsigned)change, __ATOMIC_RELAXED); }

static void await(uint64_t deadline) {
  add(1);
  gcs_count_step();
  gcs_wait_described_cancellable(&waiting, "waits for a signal", deadline);
  add(-1);
}

// MARK: For a signal

static int wait_for(const sigset_t *set, siginfo_t *info, uint64_t deadline) {
  pthread_testcancel();
  while (true) {
    int number = __wrap_sigtimedwait(set, info, &(struct timespec){0});
    if (number >= 0 || errno != EAGAIN) return number;
    if (gcs_now() >= deadline) return errno = EAGAIN, -1;
    await(deadline);
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

// MARK: For a handler

/// What main lets through while it waits for a handler; NULL at any other time.
static const sigset_t *main_mask;

bool gcs_main_awaits(int number) { return main_mask != NULL && sigismember(main_mask, number) == 0; }

static void restore(void *former) { pthread_sigmask(SIG_SETMASK, former, NULL); }

/// NULL is the mask that the thread has.
static int suspend(const sigset_t *mask) {
  bool is_main = gettid() == getpid();
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  if (mask == NULL) mask = &former;
  pthread_cleanup_push(restore, &former);
  while (true) {
    pthread_testcancel();
    // What the kernel may send is waited for there, in real time.
    struct timespec none = {0};
    if (__wrap_ppoll(NULL, 0, gcs_may_be_signalled() ? NULL : &none, mask) < 0) break;
    if (is_main) main_mask = mask;
    await(UINT64_MAX);
    if (is_main) main_mask = NULL;
  }
  pthread_cleanup_pop(1);
  return errno = EINTR, -1;
}

int sigsuspend(const sigset_t *mask) {
  if (!gcs_is_simulated()) return __wrap_sigsuspend(mask);
  GCS_POINT();
  return suspend(mask);
}

int pause(void) {
  if (!gcs_is_simulated()) return __wrap_pause();
  GCS_POINT();
  return suspend(NULL);
}
