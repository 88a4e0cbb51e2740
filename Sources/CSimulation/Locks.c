//===- Locks.c - mutexes, conditions, semaphores of the program --*- C -*-===//
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
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

static GCS_REAL(int, pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex))
static GCS_REAL(
    int, pthread_mutex_timedlock, (pthread_mutex_t *mutex, const struct timespec *deadline), (mutex, deadline))
static GCS_REAL(
    int, pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline),
    (mutex, clock, deadline))
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
static GCS_REAL(int, pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock))
static GCS_REAL(int, pthread_rwlock_wrlock, (pthread_rwlock_t *lock), (lock))
static GCS_REAL(int, pthread_rwlock_unlock, (pthread_rwlock_t *lock), (lock))
static GCS_REAL(int, sem_wait, (sem_t *semaphore), (semaphore))
static GCS_REAL(int, sem_timedwait, (sem_t *semaphore, const struct timespec *deadline), (semaphore, deadline))
static GCS_REAL(int, sem_post, (sem_t *semaphore), (semaphore))

// MARK: Mutexes

static int lock(pthread_mutex_t *mutex, uint64_t deadline) {
  int error;
  gcs_relax(1000);
  while ((error = pthread_mutex_trylock(mutex)) == EBUSY) {
    uint32_t owner = (uint32_t)mutex->__data.__owner;
    bool is_mine = owner == (uint32_t)syscall(SYS_gettid);
    if (is_mine && (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
    if (!gcs_wait(mutex, GCS_LOCK, owner, deadline)) return ETIMEDOUT;
  }
  return error;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_lock(mutex);
  GCS_POINT();
  return lock(mutex, UINT64_MAX);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_timedlock(mutex, deadline);
  GCS_POINT();
  return lock(mutex, gcs_instant(deadline));
}

int pthread_mutex_clocklock(
    pthread_mutex_t *restrict mutex, clockid_t clock, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_mutex_clocklock(mutex, clock, deadline);
  GCS_POINT();
  return lock(mutex, gcs_instant(deadline));
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

static int wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
  int error = unlock(mutex, false);
  if (error != 0) return error;
  bool was_woken = gcs_wait(condition, GCS_CONDITION, 0, deadline);
  error = lock(mutex, UINT64_MAX);
  return error != 0 ? error : was_woken ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_wait(condition, mutex);
  return wait(condition, mutex, UINT64_MAX);
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_timedwait(condition, mutex, deadline);
  return wait(condition, mutex, gcs_instant(deadline));
}

int pthread_cond_clockwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
    const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_cond_clockwait(condition, mutex, clock, deadline);
  return wait(condition, mutex, gcs_instant(deadline));
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

// MARK: Readers and writers

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  if (!gcs_is_simulated()) return __wrap_pthread_rwlock_rdlock(lock);
  GCS_POINT();
  int error;
  while ((error = pthread_rwlock_tryrdlock(lock)) == EBUSY) gcs_wait(lock, GCS_LOCK, 0, UINT64_MAX);
  return error;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  if (!gcs_is_simulated()) return __wrap_pthread_rwlock_wrlock(lock);
  GCS_POINT();
  int error;
  while ((error = pthread_rwlock_trywrlock(lock)) == EBUSY) gcs_wait(lock, GCS_LOCK, 0, UINT64_MAX);
  return error;
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  int error = __wrap_pthread_rwlock_unlock(lock);
  if (gcs_is_simulated()) gcs_wake(lock, INT32_MAX, gcs_is_in_program(__builtin_return_address(0)));
  return error;
}

// MARK: Semaphores

static int take(sem_t *semaphore, uint64_t deadline) {
  while (sem_trywait(semaphore) != 0) {
    if (errno != EAGAIN) return -1;
    if (gcs_wait(semaphore, GCS_SEMAPHORE, 0, deadline)) continue;
    errno = ETIMEDOUT;
    return -1;
  }
  return 0;
}

int sem_wait(sem_t *semaphore) {
  if (!gcs_is_simulated()) return __wrap_sem_wait(semaphore);
  GCS_POINT();
  return take(semaphore, UINT64_MAX);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_sem_timedwait(semaphore, deadline);
  GCS_POINT();
  return take(semaphore, gcs_instant(deadline));
}

int sem_post(sem_t *semaphore) {
  int error = __wrap_sem_post(semaphore);
  if (gcs_is_simulated()) gcs_wake(semaphore, 1, true);
  return error;
}
