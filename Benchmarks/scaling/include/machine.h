// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A simulated machine that has a processor for each thread: what the probe sees of it. See README.md.
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/// Starts the machine with a thread that calls `body`, which must end the process. The process runs on one real
/// processor from here on. Must be called once, by the first thread.
void machine_run(uint64_t seed, void (*body)(void *context), void *context);

/// Starts a thread that the machine knows.
void machine_start(void (*body)(void *context), void *context);

/// Counts between the two calls.
void machine_begin(void);
void machine_end(void);

/// Prints what was counted, as one JSON object on one line.
void machine_report(const char *name, int64_t workers, int64_t operations);

/// A count to wait for. Costs no time and counts as no access: what the probe does is not to be seen.
typedef struct machine_gate {
  int64_t left;
} machine_gate;

void machine_arrive(machine_gate *gate);
void machine_wait(machine_gate *gate);
/// Waits, and closes the gate behind the caller.
void machine_pass(machine_gate *gate);

/// The gate at which the items of an operation arrive; global, so that they capture nothing.
void machine_expect_items(int64_t count);
void machine_item_done(void);
void machine_wait_for_items(void);

/// Time passes for the calling thread without an access.
void machine_work(uint64_t nanoseconds);

/// Patterns with known counts: false, and a line on standard error, if one is counted otherwise.
bool machine_check_itself(void);

#endif
