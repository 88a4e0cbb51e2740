//===- CPlatformMainActor.h - the toolchain's own main queue ----*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_PLATFORM_MAIN_ACTOR_H
#define GC_PLATFORM_MAIN_ACTOR_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// A descriptor that is readable while the toolchain's library has work on its own main queue; -1 if it is not in the
/// process.
int gc_foreign_main_handle(void);

/// Runs that work, on the main thread.
void gc_foreign_main_drain(int handle);

/// Puts an item into that queue; false if the library is not in the process, or hides its names, and in a child of fork.
bool gc_foreign_main_post(void (*item)(void *));

/// Whether the calling thread runs an item of that queue.
bool gc_foreign_main_is_current(void);

/// Makes the Swift runtime call `run` where it would park the main thread of a program with an `async` main. False if the runtime
/// has no such hook, or if the thread goes to Foundation's run loop there, which the program may need.
bool gc_take_async_main(void (*run)(void));

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
