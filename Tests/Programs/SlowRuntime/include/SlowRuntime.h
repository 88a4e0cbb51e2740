// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Linked into a program, it has the Swift runtime hold its locks for long, if GC_SLOW_RUNTIME is in the environment:
/// what happens while a thread uses a type for the first time is rare elsewhere, and common here. And a fork can be stopped
/// before it copies the process; and a child can be made that shares its parent's memory.

#ifndef GC_TEST_SLOW_RUNTIME_H
#define GC_TEST_SLOW_RUNTIME_H

#include <stdbool.h>

/// How often a lock of the runtime was held for long.
unsigned gc_test_slow_runtime_count(void);

/// The calling thread stops at the next lock of the runtime that it takes, and keeps it.
void gc_test_keep_runtime_lock(void);

/// Whether it has stopped there.
bool gc_test_runtime_lock_is_kept(void);

/// It goes on.
void gc_test_let_runtime_lock_go(void);

/// The next fork calls `body` when the library's own handler has run, and before the process is copied.
void gc_test_before_copy(void (*body)(void));

/// A `vfork`, whose child ignores the signal `ignored` and becomes the program `arguments[0]`. Returns the child's number, or -1.
int gc_test_vfork(int ignored, char *const arguments[]);

#endif
