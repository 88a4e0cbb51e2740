// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Where the Swift runtime remembers the id of the thread that forks, so that the child's one can take its place.

#ifndef C_PLATFORM_SWIFT_LOCKS_H
#define C_PLATFORM_SWIFT_LOCKS_H

#include "CPlatform.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

#define GC_SWIFT_LIBRARIES 8

typedef struct {
  uint32_t thread;  ///< The forking thread's id in the parent.
  uint32_t count;
  uint32_t *words[GC_SWIFT_LIBRARIES];
} gc_swift_thread_ids;

/// The forking thread calls it in the parent, when all else is ready for the copy.
void gc_find_swift_thread_ids(gc_swift_thread_ids *GC_NONNULL ids);

/// The forking thread calls it in the child.
void gc_renew_swift_thread_ids(const gc_swift_thread_ids *GC_NONNULL ids);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
