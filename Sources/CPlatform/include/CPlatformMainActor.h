//===- CPlatformMainActor.h - the toolchain's own main queue ----*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_PLATFORM_MAIN_ACTOR_H
#define GC_PLATFORM_MAIN_ACTOR_H

#ifdef __cplusplus
extern "C" {
#endif

/// A descriptor that is readable while the toolchain's library has work on its own main queue; -1 if it is not in the
/// process.
int gc_foreign_main_handle(void);

/// Runs that work, on the main thread.
void gc_foreign_main_drain(int handle);

#ifdef __cplusplus
}
#endif
#endif
