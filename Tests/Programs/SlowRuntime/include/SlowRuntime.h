// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Linked into a program, it has the Swift runtime hold its locks for long, if GC_SLOW_RUNTIME is in the environment:
/// what happens while a thread uses a type for the first time is rare elsewhere, and common here.

#ifndef GC_TEST_SLOW_RUNTIME_H
#define GC_TEST_SLOW_RUNTIME_H

/// How often a lock of the runtime was held for long.
unsigned gc_test_slow_runtime_count(void);

#endif
