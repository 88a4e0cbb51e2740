//===- peer.h - what a peer in C or C++ is made of ---------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A peer does the operations of the duel with another library. Clocks, the
// calibrated body and the pinned threads are those of the duel itself, from
// BenchSupport.
//
//===----------------------------------------------------------------------===//
#ifndef PEER_H
#define PEER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "BenchSupport.h"

/// What one run has cost. It runs from the call of the body to its return,
/// unless the body starts or stops it.
struct meter {
  uint64_t wall, cpu;
  uint64_t wall_at_stop, cpu_at_stop;
  int stopped;
};

void meter_start(struct meter *meter);
void meter_stop(struct meter *meter);

/// Does that many operations and returns when all have completed.
typedef void (*peer_body)(uint64_t operations, struct meter *meter);

struct operation {
  /// The name in the duel.
  const char *row;
  /// The peer that does it.
  const char *peer;
  /// How many, unless the caller says so.
  uint64_t count;
  peer_body body;
};

/// Does what the command line says; `operations` ends with an empty one.
int peer_main(int argc, char **argv, const struct operation *operations);

/// Keeps the processor busy.
void peer_spin(uint64_t nanoseconds);

/// Calls the body with 0..<threads, each on a thread of its own, and returns
/// when all have returned. The meter starts when all threads are ready.
typedef void (*crew_body)(int index, void *context);
void crew_run(int threads, int pinned, struct meter *meter, crew_body body, void *context);

#ifdef __cplusplus
}
#endif

#endif
