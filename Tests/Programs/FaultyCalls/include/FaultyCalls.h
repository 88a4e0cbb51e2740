//===- FaultyCalls.h - reads and writes that go wrong -----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A program that is linked to this has preadv2, pwritev2, recv and sendmsg of its own in place of the C library's, which
// the library under test then calls as well. They are the kernel's, but for what is asked for here.
//
//===----------------------------------------------------------------------===//
#ifndef GC_FAULTY_CALLS_H
#define GC_FAULTY_CALLS_H

#include <stdint.h>

/// One call in so many is interrupted, told to try again (if it must not wait), cut short, or not supported (if it must not
/// wait); 0 for none. What is written by the mark is refused with ENOSPC: one in so many.
typedef struct gc_faults {
  uint32_t interrupted, again, shortened, unsupported, full;
} gc_faults;

/// Changes how the calls of all threads go wrong from now on; `seed` is where chance begins.
void gc_faults_set(gc_faults faults, uint64_t seed);
/// How many calls went wrong.
uint64_t gc_faults_count(void);

#endif
