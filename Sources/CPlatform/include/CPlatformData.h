//===- CPlatformData.h - memory that a program gave away --------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_DATA_H
#define GC_CPLATFORM_DATA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Unmaps the pages that `size` bytes at `memory` lie in; unlike `gc_unmap` also what `gc_map` has not made. 0 or -errno.
int gc_unmap_pages(const void *memory, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
