//===- Locks.c - mutexes and conditions of the program ------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The locks stay what they are: a simulated thread takes one by trying, and
// waits in the simulation where that does not succeed. One thread runs at a
// time, so nothing happens between the two. Conditions are waited for in the
// simulation alone.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <unistd.h>

static GCS_REAL(int, pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex))
static GCS_REAL(
    int, pthread_mutex_timedlock, (pthread_mutex_t *mutex, const struct timespec *deadline), (mutex, deadline))
static GCS_REAL(
    int, pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline),
    (mutex, clock, deadline))
static GCS_REAL(int, pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex))
static GCS_REAL(int, pthread_mutex_unlock, (pthread_mutex_t *mutex), (mutex))
static GCS_REAL(int, pthread_cond_wait, (pthread_cond_t *condition, pthread_mutex_t *mutex), (condition, mutex))
static GCS_REAL(
    int, pthread_cond_timedwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline),
    (condition, mutex, deadline))
static GCS_REAL(
    int, pthread_cond_clockwait,
    (pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline),
    (condition, mutex, clock, deadline))
static GCS_REAL(int, pthread_cond_signal, (pthread_cond_t *condition), (condition))
static GCS_REAL(int, pthread_cond_broadcast, (pthread_cond_t *condition), (condition))

int __wrap_sched_yield(void);

// MARK: Mutexes

/// A bit of the mutex's kind, as in PTHREAD_MUTEX_ROBUST.
static bool is_robust(const pthread_mutex_t *mutex) { return (mutex->__data.__kind & 16) != 0; }

/// The thread that has it, by the kernel's number. The C library notes other things in place of the owner of a robust one.
static uint32_t owner_of(const pthread_mutex_t *mutex) {
  return is_robust(mutex) ? (uint32_t)mutex->__data.__lock & FUTEX_TID_MASK : (uint32_t)mutex->__data.__owner;
}

/// Whether the robust mutex was unlocked and not made consistent. No thread gets it any more, nor one that waits for it. The C library has to
/// be kept from trying: it would leave it locked.
static bool is_lost(const pthread_mutex_t *mutex) {
  enum { NOT_RECOVERABLE = INT_MAX - 1 };
  if (!is_robust(mutex) || mutex->__data.__owner != NOT_RECOVERABLE) return false;
  gcs_wake(mutex, INT32_MAX, false);
  return true;
}

/// `deadline` may be NULL.
static int lock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  gcs_relax(1);
  while (!is_lost(mutex)) {
    int error = __wrap_pthread_mutex_trylock(mutex);
    if (error != EBUSY) return error;
    uint32_t owner = owner_of(mutex);
    // The kernel says so once the thread is really gone.
    if (is_robust(mutex) && gcs_has_left(owner)) {
      __wrap_sched_yield();
      continue;
    }
    bool is_mine = owner == (uint32_t)gettid();
    if (is_mine && (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
    if (!gcs_is_deadline(deadline)) return EINVAL;
    if (!gcs_wait(mutex, GCS_LOCK, owner, gcs_instant(clock, deadline))) return ETIMEDOUT;
  }
  return ENOTRECOVERABLE;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_lock(mutex);
  GCS_POINT();
  return lock(mutex, CLOCK_REALTIME, NULL);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_timedlock(mutex, deadline);
  GCS_POINT();
  return lock(mutex, CLOCK_REALTIME, deadline);
}

int pthread_mutex_clocklock(
    pthread_mutex_t *restrict mutex, clockid_t clock, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_clocklock(mutex, clock, deadline);
  GCS_POINT();
  return lock(mutex, clock, deadline);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  if (gcs_is_simulated()) GCS_POINT();
  return gcs_tried(__wrap_pthread_mutex_trylock(mutex));
}

static int unlock(pthread_mutex_t *mutex, bool is_point) {
  int error = __wrap_pthread_mutex_unlock(mutex);
  if (error == 0) gcs_wake(mutex, 1, is_point);
  return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_unlock(mutex);
  return unlock(mutex, gcs_is_in_program(__builtin_return_address(0)));
}

// MARK: Conditions

/// A bit of the condition, as pthread_condattr_setclock says.
static clockid_t clock_of(const pthread_cond_t *condition) {
  return (condition->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int wait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  if (!gcs_is_deadline(deadline)) return EINVAL;
  pthread_testcancel();
  int error = unlock(mutex, false);
  if (error != 0) return error;
  bool was_woken = gcs_wait_cancellable(condition, GCS_CONDITION, gcs_instant(clock, deadline));
  error = lock(mutex, CLOCK_REALTIME, NULL);
  // The program's cleanup handlers expect the mutex to be locked.
  gcs_testcancel_behind(condition);
  return error != 0 ? error : was_woken ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_wait(condition, mutex);
  return wait(condition, mutex, CLOCK_REALTIME, NULL);
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_timedwait(condition, mutex, deadline);
  return wait(condition, mutex, clock_of(condition), deadline);
}

int pthread_cond_clockwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
    const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_clockwait(condition, mutex, clock, deadline);
  return wait(condition, mutex, clock, deadline);
}

int pthread_cond_signal(pthread_cond_t *condition) {
  int error = __wrap_pthread_cond_signal(condition);
  if (gcs_is_simulated()) gcs_wake(condition, 1, true);
  return error;
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
  int error = __wrap_pthread_cond_broadcast(condition);
  if (gcs_is_simulated()) gcs_wake(condition, INT32_MAX, true);
  return error;
}
