// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Which process this is, and which thread its first one: known before anything is asked, and again in a child of fork.

#ifndef C_PLATFORM_IDENTITY_H
#define C_PLATFORM_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

extern uint32_t gc_main_thread;

/// The id of the process's first thread.
static inline uint32_t gc_main_thread_id(void) { return __atomic_load_n(&gc_main_thread, __ATOMIC_RELAXED); }

extern uint32_t gc_generation;

/// How many forks lie between this process and the one that was started.
static inline uint32_t gc_fork_generation(void) { return __atomic_load_n(&gc_generation, __ATOMIC_RELAXED); }

/// Whether this process is a copy of one that had begun to run: a child of fork.
bool gc_is_forked(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
