//===- Ring.c - the kernel's rings of requests ------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CPlatform.h"
#include "CPlatformRing.h"
#include "Uncancelled.h"

_Static_assert(sizeof(struct io_uring_sqe) == 64 && sizeof(struct io_uring_cqe) == 16, "as the header says");

static void *map(int fd, size_t size, off_t place) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, place);
  if (memory == MAP_FAILED) return NULL;
  // A forked child must not use the ring.
  madvise(memory, size, MADV_DONTFORK);
  return memory;
}

int gc_ring_open(uint32_t entries, gc_ring *ring) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  int fd = (int)syscall(SYS_io_uring_setup, entries, &parameters);
  if (fd < 0) return -errno;
  if ((fd = gc_above_standard(fd)) < 0) return fd;
  const uint32_t needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS;
  int error = ENOSYS;
  if ((parameters.features & needed) == needed) {
    size_t submit_size = parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t);
    size_t complete_size = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    size_t size = submit_size > complete_size ? submit_size : complete_size;
    size_t requests_size = parameters.sq_entries * sizeof(struct io_uring_sqe);
    char *memory = map(fd, size, IORING_OFF_SQ_RING);
    void *requests = map(fd, requests_size, IORING_OFF_SQES);
    if (memory != NULL && requests != NULL) {
      uint32_t *order = (uint32_t *)(memory + parameters.sq_off.array);
      for (uint32_t i = 0; i < parameters.sq_entries; i++) order[i] = i;
      *ring = (gc_ring){
          .fd = fd,
          .entries = parameters.sq_entries,
          .submit_tail = (uint32_t *)(memory + parameters.sq_off.tail),
          .submit_mask = *(uint32_t *)(memory + parameters.sq_off.ring_mask),
          .submissions = requests,
          .complete_head = (uint32_t *)(memory + parameters.cq_off.head),
          .complete_tail = (uint32_t *)(memory + parameters.cq_off.tail),
          .complete_mask = *(uint32_t *)(memory + parameters.cq_off.ring_mask),
          .completions = memory + parameters.cq_off.cqes,
      };
      return 0;
    }
    error = ENOMEM;
    if (memory != NULL) munmap(memory, size);
    if (requests != NULL) munmap(requests, requests_size);
  }
  raw_close(fd);
  return -error;
}

void gc_ring_prepare(const gc_ring *ring, uint32_t index, bool writes, int fd, const gc_span *spans, int count,
                     int64_t offset, uint64_t token) {
  struct io_uring_sqe *request = (struct io_uring_sqe *)ring->submissions + index;
  memset(request, 0, sizeof *request);
  request->opcode = writes ? IORING_OP_WRITEV : IORING_OP_READV;
  request->fd = fd;
  request->off = (uint64_t)offset;
  request->addr = (uint64_t)(uintptr_t)spans;
  request->len = (uint32_t)count;
  request->user_data = token;
}

int gc_ring_submit(const gc_ring *ring, uint32_t count) {
  for (;;) {
    int taken = (int)syscall(SYS_io_uring_enter, ring->fd, count, 0, 0, NULL, 0);
    if (taken >= 0) return taken;
    if (errno != EINTR) return -errno;
  }
}

void gc_ring_leave(const gc_ring *ring) {
  if (gc_is_anonymous(ring->fd, "anon_inode:[io_uring]")) raw_close(ring->fd);
}
