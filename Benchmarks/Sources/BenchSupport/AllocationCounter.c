//===- AllocationCounter.c - every malloc of the process, counted ---------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The executable defines malloc and its family, so that its own code and every
// library it loads come here first; the C library's own entry points do the
// work. A thread counts in a slot of its own: no lock, no locked instruction,
// and nothing that allocates. Slots of threads that have ended keep their
// count. Threads beyond the last slot share that one and count atomically.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "BenchSupport.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

enum { SLOTS = 4096 };

struct slot {
  _Alignas(64) _Atomic uint64_t count;
};

static struct slot slots[SLOTS];
static _Atomic uint32_t slots_taken;
static _Thread_local struct slot *own_slot;

static __attribute__((noinline)) struct slot *take_slot(void) {
  uint32_t index = atomic_fetch_add_explicit(&slots_taken, 1, memory_order_relaxed);
  own_slot = &slots[index < SLOTS ? index : SLOTS - 1];
  return own_slot;
}

static inline void count_one(void) {
  struct slot *slot = own_slot ? own_slot : take_slot();
  if (__builtin_expect(slot == &slots[SLOTS - 1], 0)) {
    atomic_fetch_add_explicit(&slot->count, 1, memory_order_relaxed);
  } else {
    uint64_t count = atomic_load_explicit(&slot->count, memory_order_relaxed);
    atomic_store_explicit(&slot->count, count + 1, memory_order_relaxed);
  }
}

uint64_t bench_allocations(void) {
  uint32_t taken = atomic_load_explicit(&slots_taken, memory_order_relaxed);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < SLOTS && i < taken; i++) {
    sum += atomic_load_explicit(&slots[i].count, memory_order_relaxed);
  }
  return sum;
}

void *malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  count_one();
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  count_one();
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count_one();
  void *result = __libc_memalign(alignment, size);
  if (result == NULL) return ENOMEM;
  *memory = result;
  return 0;
}

void free(void *memory) { __libc_free(memory); }
