//===- CPlatformRing.h - the kernel's rings of requests ---------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// io_uring by its system calls. Every function returns -errno on failure.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_RING_H
#define GC_CPLATFORM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "CPlatformIO.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Where a ring's memory is. The words that both sides change are 32 bits each.
typedef struct gc_ring {
  int fd;
  uint32_t entries;
  uint32_t *submit_tail;
  uint32_t submit_mask;
  /// 64 bytes each.
  void *submissions;
  uint32_t *complete_head;
  uint32_t *complete_tail;
  uint32_t complete_mask;
  /// 16 bytes each: the token, the result, flags.
  void *completions;
} gc_ring;

/// A ring that takes reads and writes at the file's position and loses no completion; -ENOSYS if the kernel's cannot.
int gc_ring_open(uint32_t entries, gc_ring *ring);
/// Writes a request into submission `index`. The spans must stay until it is completed.
void gc_ring_prepare(const gc_ring *ring, uint32_t index, bool writes, int fd, const gc_span *spans, int count,
                     int64_t offset, uint64_t token);
/// Tells the kernel of `count` submissions. Returns how many it took.
int gc_ring_submit(const gc_ring *ring, uint32_t count);
/// In a forked child, whose ring is the parent's: closes the descriptor, if it is the ring's still.
void gc_ring_leave(const gc_ring *ring);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
