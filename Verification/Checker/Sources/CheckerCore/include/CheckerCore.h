// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The checker's core: what runs a scenario. CheckerHooks.h is what the checked atomics call, CheckerSeam.h what the machine calls.
#ifndef CHECKER_CORE_H
#define CHECKER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CheckerHooks.h"
#include "CheckerSeam.h"

#ifdef __cplusplus
extern "C" {
#endif

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

// MARK: Mutants

/// An atomic operation with an ordering that is not relaxed, as compiled: `which` is 1 for an exchange's ordering on failure.
typedef struct ck_site {
  const void *address;
  int kind, which, order;
} ck_site;

/// Between on and off, the places of all operations are noted.
void ck_record_sites(bool on);
size_t ck_site_count(void);
ck_site ck_site_at(size_t index);
/// Where the executable was loaded: a site less this is what the line table knows.
const void *ck_image(void);
/// From now on the operations at these places have the given ordering. None: all are as they are written.
void ck_weaken(const void *const *sites, size_t count, int which, int order);

/// Writes the calling thread's event into the table: a scenario's own steps.
void ck_note(const char *text);

#ifdef __cplusplus
}
#endif
#endif
