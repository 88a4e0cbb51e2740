//===- CPlatformSwiftClocks.h - Swift's clocks in a simulation --*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_PLATFORM_SWIFT_CLOCKS_H
#define GC_PLATFORM_SWIFT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Has Swift's `ContinuousClock` and `SuspendingClock` read `now`, in nanoseconds, on threads that take part in a simulation. On all
/// others they stay the kernel's. False if Swift's library of tasks is not a shared library of the process: then they stay so on all.
bool gc_simulate_swift_clocks(uint64_t (*now)(void));

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
