// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Memory at addresses that are the same in each run: an arena at a fixed place, used from its beginning, never twice
/// within a run.
///
///   | 16 bytes: state, size | the block … | the next block's 16 bytes …
///
/// Fresh blocks hold 0xA5 and freed ones 0xDD in each byte. A block that is freed twice, or was never made, ends the run.
/// Mappings lie behind each other at the other end, at multiples of their size.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "CPlatformData.h"
#include "Machine.h"

enum { made = 0x6b6c62, gone = 0x656e6f67 };
typedef struct {
  uint64_t state;
  uint64_t size;
} header;

typedef struct {
  uintptr_t start, end, next;
} arena;

// Far from where programs, libraries and stacks lie. Pages that nobody touches cost nothing.
static arena blocks = {.start = 0x100000000000, .end = 0x100400000000};
static arena mappings = {.start = 0x110000000000, .end = 0x110800000000};
static arena own = {.start = 0x120000000000, .end = 0x120100000000};
static size_t live_bytes, live_blocks;

/// What was used is zero again: by hand while it is little, by the kernel where that is less work.
static void renew(arena *arena) {
  if (arena->next == 0) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap((void *)arena->start, arena->end - arena->start, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
      perror("the checker's memory");
      __builtin_trap();
    }
  } else {
    size_t used = arena->next - arena->start;
    if (used <= 512 << 10) {
      memset((void *)arena->start, 0, used);
    } else {
      madvise((void *)arena->start, used, MADV_DONTNEED);
    }
  }
  arena->next = arena->start;
}

static void renew_memory(void) {
  renew(&blocks);
  renew(&mappings);
  renew(&own);
  live_bytes = live_blocks = 0;
}
// Before the parts that use it: constructors without a priority come later.
__attribute__((constructor(200))) static void add_memory(void) { machine_add_part(renew_memory); }

static uintptr_t take(arena *arena, size_t size, size_t alignment, size_t before) {
  uintptr_t start = (arena->next + before + alignment - 1) & -(uintptr_t)alignment;
  if (size > arena->end - arena->start || start + size > arena->end) return 0;
  arena->next = start + size;
  return start;
}

void *machine_new(size_t size) {
  void *memory = (void *)take(&own, size, 16, 0);
  if (memory == NULL) ck_fail("the made-up machine has run out of memory of its own");
  return memory;
}

void *machine_allocate(size_t size, size_t alignment) {
  if (alignment < 16) alignment = 16;
  char *memory = (char *)take(&blocks, size == 0 ? 1 : size, alignment, sizeof(header));
  if (memory == NULL) return NULL;
  *(header *)(memory - sizeof(header)) = (header){.state = made, .size = size};
  memset(memory, 0xA5, size);
  live_bytes += size;
  live_blocks++;
  ck_memory_made(memory, size);
  return memory;
}

bool machine_owns(const void *memory) { return (uintptr_t)memory >= blocks.start && (uintptr_t)memory < blocks.end; }
bool machine_is_made(const void *memory) { return ((header *)((char *)memory - sizeof(header)))->state == made; }
size_t machine_size_of(const void *memory) { return ((header *)((char *)memory - sizeof(header)))->size; }

static void *allocate(size_t size, size_t alignment) {
  // Outside of a run memory comes from the C library.
  if (ck_self() == 0) return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return machine_refuses(CK_MACHINE_MEMORY, "no memory") ? NULL : machine_allocate(size, alignment);
}

void *gc_malloc(size_t size) { return allocate(size, 16); }
void *gc_aligned_alloc(size_t alignment, size_t size) { return allocate(size, alignment); }
void gc_free(void *memory) { free(memory); }

void machine_free(void *memory) {
  // An object may outlive its run. When it frees a block of that run now, the block is not the machine's any more.
  if ((uintptr_t)memory >= blocks.next) ck_fail("a block is freed that the machine has not made");
  header *head = (header *)((char *)memory - sizeof(header));
  if (head->state == gone) ck_fail("a block is freed twice");
  if (head->state != made) ck_fail("a block is freed that the machine has not made");
  head->state = gone;
  live_bytes -= head->size;
  live_blocks--;
  ck_memory_gone(memory, head->size);
  memset(memory, 0xDD, head->size);
}

void *gc_map(size_t size) {
  machine_point("map", NULL);
  if (ck_self() == 0) {
    void *memory = aligned_alloc(size, size);
    return memory == NULL ? NULL : memset(memory, 0, size);
  }
  if (machine_refuses(CK_MACHINE_MEMORY, "no mapping")) return NULL;
  void *memory = (void *)take(&mappings, size, size, 0);
  if (memory != NULL) ck_memory_made(memory, size);
  return memory;
}

void gc_unmap(void *memory, size_t size) {
  machine_point("unmap", memory);
  if ((uintptr_t)memory < mappings.start || (uintptr_t)memory >= mappings.end) return free(memory);
  if ((uintptr_t)memory < mappings.start || (uintptr_t)memory + size > mappings.next)
    ck_fail("a mapping is given back that the machine has not made");
  ck_memory_gone(memory, size);
  madvise(memory, size, MADV_DONTNEED);
}

void gc_populate(void *memory, size_t size) {
  (void)memory;
  (void)size;
}

int gc_unmap_pages(const void *memory, size_t size) {
  uintptr_t before = (uintptr_t)memory & 4095;
  gc_unmap((char *)memory - before, size + before);
  return 0;
}

size_t ck_machine_allocated(size_t *count) {
  if (count != NULL) *count = live_blocks;
  return live_bytes;
}
