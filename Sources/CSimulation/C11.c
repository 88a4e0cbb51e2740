//===- C11.c - threads, mutexes and conditions of C11 -------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// In the C library they are those of POSIX under other names, and call them
// past what stands in for these. Here they do not. A mutex is the same object
// by both names, and so is a condition and a flag of call_once.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static int in_c11(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
  }
}

/// The callers are the program's, and what they call does not see that.
#define POINT_OF_C11() \
  if (gcs_is_simulated()) GCS_POINT()

// MARK: Threads

typedef struct start {
  thrd_start_t body;
  void *argument;
} start;

static void *run(void *context) {
  start self = *(start *)context;
  free(context);
  return (void *)(intptr_t)self.body(self.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t body, void *argument) {
  start *new = malloc(sizeof *new);
  if (new == NULL) return thrd_nomem;
  *new = (start){body, argument};
  int error = gcs_pthread_create(thread, NULL, run, new);
  if (error == 0) return thrd_success;
  free(new);
  return error == EAGAIN ? thrd_nomem : in_c11(error);
}

int thrd_join(thrd_t thread, int *result) {
  void *word;
  int error = pthread_join(thread, &word);
  if (error == 0 && result != NULL) *result = (int)(intptr_t)word;
  return in_c11(error);
}

void thrd_exit(int result) { pthread_exit((void *)(intptr_t)result); }

int thrd_sleep(const struct timespec *time, struct timespec *left) {
  if (gcs_nanosleep(time, left) == 0) return 0;
  return errno == EINTR ? -1 : -2;
}

void thrd_yield(void) { sched_yield(); }

// MARK: Mutexes

int mtx_lock(mtx_t *mutex) {
  POINT_OF_C11();
  return in_c11(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  POINT_OF_C11();
  return in_c11(pthread_mutex_timedlock((pthread_mutex_t *)mutex, deadline));
}

int mtx_trylock(mtx_t *mutex) {
  POINT_OF_C11();
  return in_c11(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

int mtx_unlock(mtx_t *mutex) {
  int result = in_c11(pthread_mutex_unlock((pthread_mutex_t *)mutex));
  POINT_OF_C11();
  return result;
}

// MARK: Conditions, and call_once

int cnd_wait(cnd_t *condition, mtx_t *mutex) {
  return in_c11(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  return in_c11(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, deadline));
}

int cnd_signal(cnd_t *condition) { return in_c11(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) { return in_c11(pthread_cond_broadcast((pthread_cond_t *)condition)); }

void call_once(once_flag *flag, void (*body)(void)) { gcs_pthread_once((pthread_once_t *)flag, body); }
