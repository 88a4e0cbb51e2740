// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// A program that keeps much in each of its threads.

#ifndef GC_TEST_THREAD_LOCALS_H
#define GC_TEST_THREAD_LOCALS_H

/// The calling thread's own byte at `place`; there are 124 KiB.
char *gc_test_thread_local(unsigned place);

#endif
