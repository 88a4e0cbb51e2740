//===- Real.h - the C library behind what stands in for it -------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GCS_REAL_H
#define GCS_REAL_H

#include "CSimulation.h"

#include <CPlatform.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

/// The next function of that name in the order in which the loader looks.
void *gcs_real(const char *name);

/// A function SYMBOL that calls the next one that is called NAME.
#define GCS_NEXT(result, symbol, name, parameters, arguments)                            \
  result symbol parameters {                                                             \
    static result(*known) parameters;                                                    \
    result(*function) parameters = __atomic_load_n(&known, __ATOMIC_RELAXED);            \
    if (function == NULL) {                                                              \
      function = (result(*) parameters)gcs_real(#name);                                  \
      __atomic_store_n(&known, function, __ATOMIC_RELAXED);                              \
    }                                                                                    \
    return function arguments;                                                           \
  }

/// The C library's function. The linker has the library's own calls of NAME end up here (--wrap).
#define GCS_REAL(result, name, parameters, arguments) GCS_NEXT(result, __wrap_##name, name, parameters, arguments)

/// A child of vfork runs on its parent's thread, with its parent's memory, and takes no part. Set while there may be one; in Processes.c.
extern bool gcs_has_child;
bool gcs_is_parent(void);

static inline bool gcs_is_simulated(void) {
  return gc_thread_self()->simulated != NULL && (!gcs_has_child || gcs_is_parent());
}

/// Whether the address lies in the program itself, and not in a library.
bool gcs_is_in_program(const void *address);

/// At a call of the program itself another thread may go on; libraries are not interrupted in the middle of what they do.
#define GCS_POINT() \
  if (gcs_is_in_program(__builtin_return_address(0))) gcs_point()

/// By a thread that looks at a clock, yields, takes a lock, or could not take one. One that does so over and over without a wait may wait for
/// another thread, or for time to pass: after 1,000, each of that weight, it sleeps for a microsecond. That doubles each time, up to a
/// millisecond; each 64th time with the weight of 1, which clocks have, and locks that may be free.
void gcs_relax(unsigned weight);

/// By a thread that has tried to take something. One that fails waits in a loop.
static inline int gcs_tried(int error) {
  int kept = errno;
  if (error != 0 && gcs_is_simulated()) gcs_relax(20);
  errno = kept;
  return error;
}

/// UINT64_MAX for more than there can be.
uint64_t gcs_nanoseconds(const struct timespec *time);

struct timespec gcs_time_of(uint64_t nanoseconds);

/// Virtual nanoseconds of the uptime clock at an instant of the clock. NULL is never, and what was before there was an uptime is 0.
uint64_t gcs_instant(clockid_t clock, const struct timespec *time);

/// Whether the C library takes it for an instant. NULL is one.
bool gcs_is_deadline(const struct timespec *time);

/// As `gcs_wait`; but `pthread_cancel` ends the wait as well, and then it returns true. The caller calls `pthread_testcancel` behind it.
bool gcs_wait_cancellable(const void *address, enum gcs_kind kind, uint64_t deadline);
/// The same for a wait that has words of its own.
bool gcs_wait_described_cancellable(const void *address, const char *words, uint64_t deadline);
/// The same for `gcs_sleep`.
void gcs_sleep_cancellable(uint64_t nanoseconds);
/// As `pthread_testcancel`, behind a wait for the address. A thread that is cancelled leaves to another one what it may have been woken for.
void gcs_testcancel_behind(const void *address);

/// What stands in for these three, for the library itself, where the names are the C library's (--wrap).
int gcs_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int gcs_pthread_once(pthread_once_t *once, void (*body)(void));
int gcs_nanosleep(const struct timespec *time, struct timespec *left);

/// Sleeps, or lets others go on if that is for no time.
void gcs_rest(uint64_t nanoseconds);

/// Whether the thread, by the kernel's number, has had its last turn. It may not be gone yet.
bool gcs_has_left(uint32_t thread);

/// The main thread is about to take part.
void gcs_prepare_threads(void);
void gcs_prepare_processes(void);
bool gcs_has_begun(void);
/// Whether this is the process that has begun, and no child of it.
bool gcs_is_process(void);

#endif
