// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The checker's core: what the checked atomics call, and what runs a scenario. CheckerSeam.h is what the machine calls.
#ifndef CHECKER_CORE_H
#define CHECKER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CheckerSeam.h"

#ifdef __cplusplus
extern "C" {
#endif

// MARK: Atomic operations. `width` in bytes: 1, 2, 4 or 8; values in the low bytes. Outside of a run they act at once.

enum { CK_RELAXED = 0, CK_ACQUIRE = 1, CK_RELEASE = 2, CK_ACQ_REL = 3, CK_SEQ_CST = 4 };
enum { CK_EXCHANGE, CK_ADD, CK_SUB, CK_AND, CK_OR, CK_XOR, CK_MIN, CK_MAX, CK_UMIN, CK_UMAX };

/// No atomic operation: the thread that calls it must come before all others that use the location.
void ck_atomic_init(void *location, int width, uint64_t value);
void ck_atomic_gone(void *location, int width);
uint64_t ck_atomic_load(const void *location, int width, int order);
void ck_atomic_store(void *location, int width, uint64_t value, int order);
/// Returns the value before.
uint64_t ck_atomic_update(void *location, int width, int operation, uint64_t operand, int order);
/// Replaces `*expected` by what was found.
bool ck_atomic_compare_exchange(void *location, int width, uint64_t *expected, uint64_t desired, int success, int failure,
                                bool weak);
void ck_atomic_fence(int order);

// MARK: Running

enum { CK_EXHAUSTIVE, CK_PCT, CK_RANDOM, CK_REPLAY };

typedef struct ck_options {
  int strategy;
  /// Sequential consistency only: each load reads the newest store.
  bool sc;
  /// Ends after so many seconds, runs; 0: no limit.
  double seconds;
  uint64_t runs;
  uint64_t seed;
  /// PCT: priority changes are one less.
  int depth;
  /// Exhaustive: at most so many switches of a thread that could go on; -1: no bound, with partial-order reduction.
  int preemptions;
  /// How many unusual answers (ck_choose, spurious wake-ups, early deadlines, weak exchanges that fail) a run may have.
  int unusual;
  /// A longer run is a finding.
  uint64_t steps;
  const char *token;
  /// No table, no shrinking: for tests that expect a failure.
  bool quiet;
} ck_options;

typedef struct ck_result {
  bool failed;
  /// Exhaustive: nothing is left.
  bool complete;
  uint64_t runs;
  uint64_t points;
  uint64_t longest;
  double seconds;
  /// Of the failure; valid until the next exploration.
  const char *message;
  const char *token;
  const char *table;
} ck_result;

ck_options ck_default_options(void);

/// Explores `body`, which the scenario's main thread runs anew in each run.
ck_result ck_explore(const char *name, void (*body)(void *), void *context, const ck_options *options);

/// Blocks the calling fibre until the other one has ended; takes over what it has done.
void ck_join(ck_thread thread);

/// Memory that each thread has for itself: saved and restored at each switch. Zero when a thread begins.
void ck_thread_local(void *memory, size_t size);

/// Writes the calling thread's event into the table: a scenario's own steps.
void ck_note(const char *text);

#ifdef __cplusplus
}
#endif
#endif
