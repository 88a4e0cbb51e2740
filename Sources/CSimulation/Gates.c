//===- Gates.c - semaphores, barriers, pthread_once ---------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static GCS_REAL(int, sem_wait, (sem_t * semaphore), (semaphore))
static GCS_REAL(int, sem_trywait, (sem_t * semaphore), (semaphore))
static GCS_REAL(int, sem_timedwait, (sem_t * semaphore, const struct timespec *deadline), (semaphore, deadline))
static GCS_REAL(
    int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *deadline),
    (semaphore, clock, deadline))
static GCS_REAL(int, sem_post, (sem_t * semaphore), (semaphore))

// MARK: Semaphores

/// On the stack of a thread that waits. Touched by the thread that has the turn.
typedef struct taker {
  sem_t *semaphore;
  struct taker *next;
} taker;

static taker *takers;

/// False once the instant has come.
static bool await(sem_t *semaphore, uint64_t deadline) {
  taker self = {semaphore, takers}, **place = &takers;
  takers = &self;
  bool was_woken = gcs_wait_cancellable(semaphore, GCS_SEMAPHORE, deadline);
  while (*place != &self) place = &(*place)->next;
  *place = self.next;
  return was_woken;
}

void gcs_handlers_posted(void) {
  for (const taker *each = takers; each != NULL; each = each->next) {
    int value = 0;
    if (sem_getvalue(each->semaphore, &value) == 0 && value > 0) gcs_wake(each->semaphore, value, false);
  }
}

/// `deadline` may be NULL.
static int take(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
  bool is_late = false;
  pthread_testcancel();
  while (__wrap_sem_trywait(semaphore) != 0) {
    if (errno != EAGAIN) return -1;
    if (is_late) return errno = ETIMEDOUT, -1;
    if (!gcs_is_deadline(deadline)) return errno = EINVAL, -1;
    is_late = !await(semaphore, gcs_instant(clock, deadline));
    gcs_testcancel_behind(semaphore);
  }
  return 0;
}

int sem_wait(sem_t *semaphore) {
  if (!gcs_is_simulated()) return __wrap_sem_wait(semaphore);
  GCS_POINT();
  return take(semaphore, CLOCK_REALTIME, NULL);
}

int sem_trywait(sem_t *semaphore) {
  if (gcs_is_simulated()) GCS_POINT();
  return gcs_tried(__wrap_sem_trywait(semaphore));
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_sem_timedwait(semaphore, deadline);
  GCS_POINT();
  return take(semaphore, CLOCK_REALTIME, deadline);
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict deadline) {
  if (!gcs_is_simulated()) return __wrap_sem_clockwait(semaphore, clock, deadline);
  GCS_POINT();
  return take(semaphore, clock, deadline);
}

int sem_post(sem_t *semaphore) {
  int error = __wrap_sem_post(semaphore);
  if (gcs_is_simulated()) gcs_wake(semaphore, 1, true);
  return error;
}

// MARK: Barriers

static GCS_REAL(
    int, pthread_barrier_init, (pthread_barrier_t * barrier, const pthread_barrierattr_t *attributes, unsigned count),
    (barrier, attributes, count))
static GCS_REAL(int, pthread_barrier_destroy, (pthread_barrier_t * barrier), (barrier))
static GCS_REAL(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))

/// What the program's object does not tell. One that was made before `main` has none.
typedef struct barrier {
  pthread_barrier_t *object;
  unsigned count, arrived, round;
  struct barrier *next;
} barrier;

/// Touched by the thread that has the turn.
static barrier *barriers;

static barrier **place_of(pthread_barrier_t *object) {
  barrier **place = &barriers;
  while (*place != NULL && (*place)->object != object) place = &(*place)->next;
  return place;
}

int pthread_barrier_destroy(pthread_barrier_t *object) {
  if (gcs_is_simulated()) {
    barrier **place = place_of(object), *found = *place;
    if (found != NULL) {
      *place = found->next;
      free(found);
    }
  }
  return __wrap_pthread_barrier_destroy(object);
}

int pthread_barrier_init(
    pthread_barrier_t *restrict object, const pthread_barrierattr_t *restrict attributes, unsigned count) {
  int error = __wrap_pthread_barrier_init(object, attributes, count);
  if (error != 0 || !gcs_is_simulated()) return error;
  barrier **place = place_of(object);
  if (*place == NULL) *place = calloc(1, sizeof **place);
  if (*place == NULL) return ENOMEM;
  barrier *next = (*place)->next;
  **place = (barrier){.object = object, .count = count, .next = next};
  return 0;
}

int pthread_barrier_wait(pthread_barrier_t *object) {
  barrier *found = gcs_is_simulated() ? *place_of(object) : NULL;
  if (found == NULL) return __wrap_pthread_barrier_wait(object);
  GCS_POINT();
  found->arrived += 1;
  if (found->arrived == found->count) {
    found->arrived = 0;
    found->round += 1;
    gcs_wake(object, INT32_MAX, true);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  // It may be destroyed as soon as all have arrived.
  gcs_wait(object, GCS_BARRIER, 0, UINT64_MAX);
  return 0;
}

// MARK: Once

GCS_REAL(int, pthread_once, (pthread_once_t * once, void (*body)(void)), (once, body))

/// A function that is being called. On the stack of the thread that calls it, which has the turn where it touches the list.
typedef struct call {
  pthread_once_t *once;
  struct call *next;
} call;

static call *calls;

static bool is_being_called(pthread_once_t *once) {
  for (const call *other = calls; other != NULL; other = other->next) {
    if (other->once == once) return true;
  }
  return false;
}

static void end_call(void *context) {
  call *self = context, **place = &calls;
  while (*place != self) place = &(*place)->next;
  *place = self->next;
  gcs_wake(self->once, INT32_MAX, false);
}

int gcs_pthread_once(pthread_once_t *once, void (*body)(void)) {
  if (!gcs_is_simulated()) return __wrap_pthread_once(once, body);
  // A thread that waited in the C library would keep the turn.
  while (is_being_called(once)) gcs_wait(once, GCS_ONCE, 0, UINT64_MAX);
  call self = {once, calls};
  calls = &self;
  int error;
  pthread_cleanup_push(end_call, &self);
  error = __wrap_pthread_once(once, body);
  pthread_cleanup_pop(1);
  return error;
}

int pthread_once(pthread_once_t *once, void (*body)(void)) { return gcs_pthread_once(once, body); }
