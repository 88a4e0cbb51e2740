//===- Threads.c - threads that the program starts itself --------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

GCS_REAL(
    int, pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
    (thread, attributes, body, argument))
static GCS_REAL(int, pthread_join, (pthread_t thread, void **result), (thread, result))

/// A thread of the program that takes part. Touched by the thread that has the turn.
typedef struct member {
  void *(*body)(void *);
  void *argument;
  void *thread;
  pthread_t identity;
  bool has_ended;
  struct member *next;
} member;

/// All that have not been joined. One that is detached stays: it may be asked for until the process ends.
static member *members;

// However the thread ends: by returning, by pthread_exit, or because it is cancelled.
static void leave(void *context) {
  member *self = context;
  self->has_ended = true;
  gcs_wake(self, INT32_MAX, false);
  gcs_thread_leave(self->thread);
}

static void *run(void *context) {
  member *self = context;
  void *result;
  gcs_thread_enter(self->thread);
  pthread_cleanup_push(leave, self);
  result = self->body(self->argument);
  pthread_cleanup_pop(1);
  return result;
}

int pthread_create(
    pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
    void *restrict argument) {
  if (!gcs_is_simulated()) return __wrap_pthread_create(thread, attributes, body, argument);
  member *new = calloc(1, sizeof *new);
  if (new == NULL) return EAGAIN;
  new->body = body;
  new->argument = argument;
  new->thread = gcs_thread_make();
  int error = __wrap_pthread_create(thread, attributes, run, new);
  if (error != 0) {
    gcs_thread_drop(new->thread);
    free(new);
    return error;
  }
  new->identity = *thread;
  new->next = members;
  members = new;
  gcs_thread_add(new->thread);
  return 0;
}

int pthread_join(pthread_t thread, void **result) {
  if (!gcs_is_simulated()) return __wrap_pthread_join(thread, result);
  member **place = &members;
  while (*place != NULL && !pthread_equal((*place)->identity, thread)) place = &(*place)->next;
  member *found = *place;
  if (found == NULL) return __wrap_pthread_join(thread, result);
  while (!found->has_ended) gcs_wait(found, GCS_THREAD, 0, UINT64_MAX);
  // The list may have changed meanwhile.
  for (place = &members; *place != NULL && *place != found; place = &(*place)->next) continue;
  int error = __wrap_pthread_join(thread, result);
  if (*place == found) {
    *place = found->next;
    free(found);
  }
  return error;
}
