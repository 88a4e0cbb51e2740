//===- SharedLocks.c - readers, writers, and spinning -------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define RWLOCK(name) static GCS_REAL(int, pthread_rwlock_##name, (pthread_rwlock_t * lock), (lock))
#define TIMED_RWLOCK(name)                                                                                     \
  static GCS_REAL(                                                                                             \
      int, pthread_rwlock_timed##name, (pthread_rwlock_t * lock, const struct timespec *deadline), (lock, deadline)) \
  static GCS_REAL(                                                                                             \
      int, pthread_rwlock_clock##name, (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *deadline), \
      (lock, clock, deadline))
RWLOCK(rdlock)
RWLOCK(wrlock)
RWLOCK(tryrdlock)
RWLOCK(trywrlock)
RWLOCK(unlock)
TIMED_RWLOCK(rdlock)
TIMED_RWLOCK(wrlock)

// MARK: Readers and writers

/// On the stack of a thread that waits to write. Touched by the thread that has the turn.
typedef struct writer {
  pthread_rwlock_t *lock;
  struct writer *next;
} writer;

static writer *writers;

/// Whether readers wait for a writer that waits itself. With such a lock they do, those that read already as well.
static bool gives_way(const pthread_rwlock_t *lock) {
  if (lock->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) return false;
  for (const writer *each = writers; each != NULL; each = each->next) {
    if (each->lock == lock) return true;
  }
  return false;
}

static int try_rdlock(pthread_rwlock_t *lock) {
  return gcs_is_simulated() && gives_way(lock) ? EBUSY : __wrap_pthread_rwlock_tryrdlock(lock);
}

static int try_wrlock(pthread_rwlock_t *lock) { return __wrap_pthread_rwlock_trywrlock(lock); }

/// False once the instant has come.
static bool await(pthread_rwlock_t *lock, bool writes, uint32_t owner, uint64_t deadline) {
  if (!writes) return gcs_wait(lock, GCS_LOCK, owner, deadline);
  writer self = {lock, writers}, **place = &writers;
  writers = &self;
  bool was_woken = gcs_wait(lock, GCS_LOCK, owner, deadline);
  while (*place != &self) place = &(*place)->next;
  *place = self.next;
  // Readers may have given way to it.
  if (!was_woken) gcs_wake(lock, INT32_MAX, false);
  return was_woken;
}

/// `deadline` may be NULL.
static int lock(pthread_rwlock_t *lock, bool writes, clockid_t clock, const struct timespec *deadline) {
  int error;
  gcs_relax(1);
  while ((error = writes ? try_wrlock(lock) : try_rdlock(lock)) == EBUSY) {
    uint32_t writer = (uint32_t)lock->__data.__cur_writer;
    if (writer == (uint32_t)gettid()) return EDEADLK;
    if (!gcs_is_deadline(deadline)) return EINVAL;
    if (!await(lock, writes, writer, gcs_instant(clock, deadline))) return ETIMEDOUT;
  }
  return error;
}

#define LOCK(name, writes)                                                                                         \
  int pthread_rwlock_##name(pthread_rwlock_t *object) {                                                            \
    if (!gcs_is_simulated()) return __wrap_pthread_rwlock_##name(object);                                          \
    GCS_POINT();                                                                                                   \
    return lock(object, writes, CLOCK_REALTIME, NULL);                                                             \
  }                                                                                                                \
  int pthread_rwlock_timed##name(pthread_rwlock_t *restrict object, const struct timespec *restrict deadline) {    \
    if (!gcs_is_simulated()) return __wrap_pthread_rwlock_timed##name(object, deadline);                           \
    GCS_POINT();                                                                                                   \
    return lock(object, writes, CLOCK_REALTIME, deadline);                                                         \
  }                                                                                                                \
  int pthread_rwlock_clock##name(                                                                                  \
      pthread_rwlock_t *restrict object, clockid_t clock, const struct timespec *restrict deadline) {              \
    if (!gcs_is_simulated()) return __wrap_pthread_rwlock_clock##name(object, clock, deadline);                    \
    GCS_POINT();                                                                                                   \
    return lock(object, writes, clock, deadline);                                                                  \
  }                                                                                                                \
  int pthread_rwlock_try##name(pthread_rwlock_t *object) {                                                         \
    if (gcs_is_simulated()) GCS_POINT();                                                                           \
    return gcs_tried(try_##name(object));                                                                          \
  }
LOCK(rdlock, false)
LOCK(wrlock, true)

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
  int error = __wrap_pthread_rwlock_unlock(lock);
  if (gcs_is_simulated()) gcs_wake(lock, INT32_MAX, gcs_is_in_program(__builtin_return_address(0)));
  return error;
}

// MARK: Spinning

static GCS_REAL(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
static GCS_REAL(int, pthread_spin_trylock, (pthread_spinlock_t * lock), (lock))
static GCS_REAL(int, pthread_spin_unlock, (pthread_spinlock_t * lock), (lock))

int pthread_spin_lock(pthread_spinlock_t *lock) {
  if (!gcs_is_simulated()) return __wrap_pthread_spin_lock(lock);
  GCS_POINT();
  gcs_relax(1);
  while (__wrap_pthread_spin_trylock(lock) != 0) gcs_wait((const void *)lock, GCS_LOCK, 0, UINT64_MAX);
  return 0;
}

int pthread_spin_trylock(pthread_spinlock_t *lock) {
  if (gcs_is_simulated()) GCS_POINT();
  return gcs_tried(__wrap_pthread_spin_trylock(lock));
}

int pthread_spin_unlock(pthread_spinlock_t *lock) {
  int error = __wrap_pthread_spin_unlock(lock);
  if (gcs_is_simulated()) gcs_wake((const void *)lock, INT32_MAX, gcs_is_in_program(__builtin_return_address(0)));
  return error;
}
