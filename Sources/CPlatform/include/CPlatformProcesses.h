//===- CPlatformProcesses.h - watching processes ----------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Process descriptors and the process connector. Every function returns
// -errno on failure.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_PROCESSES_H
#define GC_CPLATFORM_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// A descriptor that is readable once the process has ended; programs do not inherit it.
int gc_pidfd_open(int32_t pid);

typedef struct gc_process_end {
  bool has_ended;
  bool was_killed;   ///< By a signal.
  bool dumped_core;
  int32_t status;    ///< Exit code or signal.
} gc_process_end;

/// How the child behind a process descriptor has ended, without reaping it. -ECHILD: not a child,
/// or reaped, and the kernel does not remember.
int gc_pidfd_end(int pidfd, gc_process_end *end);

/// The same of a process by its number, without a descriptor. -ESRCH: there is none any more; -ECHILD: there is one, not a
/// child.
int gc_process_end_of(int32_t pid, gc_process_end *end);

/// A non-blocking descriptor that hears of every fork and exec of the system. Only with the privilege to.
int gc_connector_open(void);
/// Tells the kernel that this process no longer listens, and closes.
void gc_connector_close(int connector);

enum { GC_CONNECTOR_FORK = 1, GC_CONNECTOR_EXEC = 2, GC_CONNECTOR_LOST = 4 };

/// The next message: what process `pid` has done, 0 when it has done something else; -EAGAIN when there is none. A fork has made `child`.
int gc_connector_next(int connector, int32_t *pid, int32_t *child);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
