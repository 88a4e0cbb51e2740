//===- Real.h - the C library behind what stands in for it -------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GCS_REAL_H
#define GCS_REAL_H

#include <CPlatform.h>
#include <stdbool.h>

/// The next function of that name in the order in which the loader looks.
void *gcs_real(const char *name);

/// The C library's function. The linker has the library's own calls of NAME end up here (--wrap).
#define GCS_REAL(result, name, parameters, arguments)                                    \
  result __wrap_##name parameters {                                                      \
    static result(*known) parameters;                                                    \
    result(*function) parameters = __atomic_load_n(&known, __ATOMIC_RELAXED);            \
    if (function == NULL) {                                                              \
      function = (result(*) parameters)gcs_real(#name);                                  \
      __atomic_store_n(&known, function, __ATOMIC_RELAXED);                              \
    }                                                                                    \
    return function arguments;                                                           \
  }

static inline bool gcs_is_simulated(void) { return gc_thread_self()->simulated != NULL; }

/// Whether the address lies in the program itself, and not in a library.
bool gcs_is_in_program(const void *address);

/// At a call of the program itself another thread may go on; libraries are not interrupted in the middle of what they do.
#define GCS_POINT() \
  if (gcs_is_in_program(__builtin_return_address(0))) gcs_point()

/// By a thread that looks at a clock, or takes a lock. One that does so over and over, while no other thread goes on, may wait for
/// another one, or for time to pass: then it sleeps for so long.
void gcs_relax(uint64_t nanoseconds);

/// Virtual nanoseconds of the uptime clock at an instant of either clock: the wall clock is so far ahead that its instants are no
/// other one's.
uint64_t gcs_instant(const struct timespec *time);

#endif
