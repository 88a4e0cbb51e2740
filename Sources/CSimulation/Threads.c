//===- Threads.c - threads that the program starts itself --------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

GCS_REAL(
    int, pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
    (thread, attributes, body, argument))
static GCS_REAL(int, pthread_join, (pthread_t thread, void **result), (thread, result))
static GCS_REAL(int, pthread_tryjoin_np, (pthread_t thread, void **result), (thread, result))
static GCS_REAL(
    int, pthread_clockjoin_np, (pthread_t thread, void **result, clockid_t clock, const struct timespec *deadline),
    (thread, result, clock, deadline))
static GCS_REAL(int, pthread_cancel, (pthread_t thread), (thread))
static GCS_REAL(int, pthread_setcanceltype, (int type, int *former), (type, former))

/// A thread of the program that takes part. Touched by the thread that has the turn.
typedef struct member {
  void *(*body)(void *);
  void *argument;
  void *thread;
  pthread_t identity;
  /// The kernel's number; 0 before its first turn.
  uint32_t number;
  bool has_ended;
  /// Waits where `pthread_cancel` is to end that.
  bool is_cancellable;
  /// Of the destructors of what the thread keeps for itself.
  int rounds;
  struct member *next;
} member;

/// All that have not been joined. One that is detached stays: it may be asked for until the process ends.
static member *members;

/// How many were started by threads that take no part, before `main` for example.
static unsigned outsiders;
/// How many have not ended, without the main thread.
static unsigned others;
static member main_member;
static _Thread_local member *mine;
static pthread_key_t last_words;

// The main thread has left its `main` by pthread_exit. The process ends with its last thread.
static _Noreturn void end_behind_others(void) {
  while (others > 0) gcs_wait(&others, GCS_THREAD, 0, UINT64_MAX);
  gcs_outlive_workers();
  exit(EXIT_SUCCESS);
}

bool gcs_has_left(uint32_t thread) {
  const member *each = members;
  while (each != NULL && !(each->has_ended && each->number == thread)) each = each->next;
  return each != NULL;
}

/// The thread ends, and leaves robust mutexes locked: what waits for them looks again. The kernel has been told where their list is.
static void leave_robust_mutexes(void) {
  struct robust_list_head *head;
  size_t size;
  if (syscall(SYS_get_robust_list, 0, &head, &size) != 0) return;
  const struct robust_list *entry = head->list.next;
  while (entry != &head->list) {
    // The lowest bit is a mark.
    entry = (const struct robust_list *)((uintptr_t)entry & ~(uintptr_t)1);
    gcs_wake((const char *)entry + head->futex_offset, INT32_MAX, false);
    entry = entry->next;
  }
}

// However the thread ends: by returning, by pthread_exit, or because it is cancelled. What it keeps for itself has destructors as well,
// which are called in rounds. They are in the simulation; this is the last of them.
static void leave(void *context) {
  member *self = context;
  // A child of fork ends without.
  if (!gcs_is_simulated()) return;
  self->rounds += 1;
  if (self->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(last_words, self) == 0) return;
  if (self == &main_member) end_behind_others();
  self->has_ended = true;
  others -= 1;
  gcs_wake(self, INT32_MAX, false);
  gcs_wake(&others, INT32_MAX, false);
  leave_robust_mutexes();
  gcs_thread_leave(self->thread);
}

bool gcs_has_outsiders(void) { return __atomic_load_n(&outsiders, __ATOMIC_RELAXED) > 0; }

static void take_part(member *self) {
  mine = self;
  self->number = (uint32_t)gettid();
  // Without it the thread would keep the turn when it ends.
  if (pthread_setspecific(last_words, self) != 0) abort();
}

void gcs_prepare_threads(void) {
  if (pthread_key_create(&last_words, leave) != 0) abort();
  take_part(&main_member);
}

static void *run(void *context) {
  member *self = context;
  gcs_thread_enter(self->thread);
  take_part(self);
  return self->body(self->argument);
}

int gcs_pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  if (!gcs_is_simulated()) {
    __atomic_fetch_add(&outsiders, 1, __ATOMIC_RELAXED);
    return __wrap_pthread_create(thread, attributes, body, argument);
  }
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
  others += 1;
  gcs_thread_add(new->thread);
  return 0;
}

int pthread_create(
    pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
    void *restrict argument) {
  return gcs_pthread_create(thread, attributes, body, argument);
}

// MARK: Joining

static member **place_of(pthread_t thread) {
  member **place = &members;
  while (*place != NULL && !pthread_equal((*place)->identity, thread)) place = &(*place)->next;
  return place;
}

/// Its end, which is waited for until the instant. The C library says what it is to join oneself.
static int join(pthread_t thread, void **result, uint64_t deadline) {
  member *found = pthread_equal(thread, pthread_self()) ? NULL : *place_of(thread);
  if (found == NULL) return __wrap_pthread_join(thread, result);
  pthread_testcancel();
  while (!found->has_ended) {
    if (gcs_now() >= deadline) return ETIMEDOUT;
    gcs_wait_cancellable(found, GCS_THREAD, deadline);
    pthread_testcancel();
  }
  // The list may have changed meanwhile.
  member **place = &members;
  while (*place != NULL && *place != found) place = &(*place)->next;
  int error = __wrap_pthread_join(thread, result);
  if (*place == found) {
    *place = found->next;
    free(found);
  }
  return error;
}

int pthread_join(pthread_t thread, void **result) {
  return gcs_is_simulated() ? join(thread, result, UINT64_MAX) : __wrap_pthread_join(thread, result);
}

int pthread_tryjoin_np(pthread_t thread, void **result) {
  if (!gcs_is_simulated()) return __wrap_pthread_tryjoin_np(thread, result);
  GCS_POINT();
  member *found = *place_of(thread);
  // Of one that takes no part the C library says whether it has ended.
  if (found == NULL) return gcs_tried(__wrap_pthread_tryjoin_np(thread, result));
  return found->has_ended ? join(thread, result, UINT64_MAX) : gcs_tried(EBUSY);
}

int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *deadline) {
  bool is_known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  if (!gcs_is_simulated() || !is_known || !gcs_is_deadline(deadline)) {
    return __wrap_pthread_clockjoin_np(thread, result, clock, deadline);
  }
  return join(thread, result, gcs_instant(clock, deadline));
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *deadline) {
  if (!gcs_is_simulated()) return __wrap_pthread_clockjoin_np(thread, result, CLOCK_REALTIME, deadline);
  return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, deadline);
}

// MARK: A thread beside the program

static void *run_beside(void *body) {
  ((void (*)(void))body)();
  return NULL;
}

bool gcs_start_beside(void (*body)(void)) {
  sigset_t all, former;
  pthread_attr_t attributes;
  pthread_t thread;
  sigfillset(&all);
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  int error = __wrap_pthread_create(&thread, &attributes, run_beside, (void *)body);
  pthread_sigmask(SIG_SETMASK, &former, NULL);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

// MARK: Cancellation

int pthread_cancel(pthread_t thread) {
  int error = __wrap_pthread_cancel(thread);
  if (error != 0 || !gcs_is_simulated()) return error;
  member *found = members;
  while (found != NULL && !pthread_equal(found->identity, thread)) found = found->next;
  if (found != NULL && found->is_cancellable) gcs_thread_interrupt(found->thread);
  return error;
}

/// A thread that waits in the simulation may be ended by its own turn alone: what is to be at once is so at its next wait.
int pthread_setcanceltype(int type, int *former) {
  static _Thread_local int current = PTHREAD_CANCEL_DEFERRED;
  if (!gcs_is_simulated() || (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)) {
    return __wrap_pthread_setcanceltype(type, former);
  }
  if (former != NULL) *former = current;
  current = type;
  if (type == PTHREAD_CANCEL_ASYNCHRONOUS) pthread_testcancel();
  return 0;
}

// A worker of the library runs items of the program, and is none of its threads.
static void set_cancellable(bool is_cancellable) {
  if (mine != NULL) mine->is_cancellable = is_cancellable;
}

bool gcs_wait_cancellable(const void *address, enum gcs_kind kind, uint64_t deadline) {
  set_cancellable(true);
  bool was_woken = gcs_wait(address, kind, 0, deadline);
  set_cancellable(false);
  return was_woken;
}

bool gcs_wait_described_cancellable(const void *address, const char *words, uint64_t deadline) {
  set_cancellable(true);
  bool was_woken = gcs_wait_described(address, words, deadline);
  set_cancellable(false);
  return was_woken;
}

void gcs_sleep_cancellable(uint64_t nanoseconds) {
  set_cancellable(true);
  gcs_sleep(nanoseconds);
  set_cancellable(false);
}

static void wake_another(void *address) { gcs_wake(address, 1, false); }

void gcs_testcancel_behind(const void *address) {
  pthread_cleanup_push(wake_another, (void *)address);
  pthread_testcancel();
  pthread_cleanup_pop(0);
}
