//===- CPlatformPressure.h - files that tell of memory pressure -*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_PRESSURE_H
#define GC_CPLATFORM_PRESSURE_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Opens an existing file to set a trigger in and to wait on; a descriptor or -errno.
int gc_pressure_open(const char *path);

/// Reads from the file's beginning, wherever the descriptor stands. Bytes, or -errno. Repeats on EINTR.
ssize_t gc_pressure_read(int fd, void *buffer, size_t count);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
