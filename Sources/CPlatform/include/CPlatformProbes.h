//===- CPlatformProbes.h - places where tracers may look in -----*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Statically defined probes, as bpftrace, perf, SystemTap and gdb know them: a note in the library's file says where each is,
// and where its arguments are. The provider is `dispatch`; names and arguments are those that libdispatch has on other systems.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_PROBES_H
#define GC_CPLATFORM_PROBES_H

#include "CPlatform.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// How many tracers look in. The kernel counts, or a debugger does; the notes say where.
extern __attribute__((visibility("hidden"))) uint16_t gc_probes_semaphore;

static inline bool gc_probes_are_wanted(void) {
  // relaxed: a setting, which no code waits for.
  return __atomic_load_n(&gc_probes_semaphore, __ATOMIC_RELAXED) != 0;
}

/// When a timer fires: the first deadline from now, the interval and the leeway, in nanoseconds.
typedef struct gc_probe_timer_params {
  int64_t deadline, interval, leeway;
} gc_probe_timer_params;

void gc_probe_queue_push(
    uintptr_t queue, const char *GC_NONNULL label, uintptr_t item, const void *GC_NONNULL kind, uintptr_t function, uintptr_t context);
void gc_probe_queue_pop(
    uintptr_t queue, const char *GC_NONNULL label, uintptr_t item, const void *GC_NONNULL kind, uintptr_t function, uintptr_t context);
void gc_probe_callout_entry(uintptr_t queue, const char *GC_NONNULL label, uintptr_t function, uintptr_t context);
void gc_probe_callout_return(uintptr_t queue, const char *GC_NONNULL label, uintptr_t function, uintptr_t context);
void gc_probe_timer_configure(uintptr_t source, uintptr_t handler, const gc_probe_timer_params *GC_NONNULL params);
void gc_probe_timer_program(uintptr_t source, uintptr_t handler, const gc_probe_timer_params *GC_NONNULL params);
void gc_probe_timer_wake(uintptr_t source, uintptr_t handler);
void gc_probe_timer_fire(uintptr_t source, uintptr_t handler);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
