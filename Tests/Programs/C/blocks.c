// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A runtime of blocks, by their published ABI, for the platforms that the toolchain brings none for: what clang's code calls. Blocks
// count their references in steps of two, or of another number that is defined; what a block catches is a block, a shared variable, or an
// address.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef ONE
#define ONE 2
#endif

enum { COUNT = 0x10000 - ONE, IS_ON_HEAP = 1 << 24, HAS_HELPERS = 1 << 25, IS_GLOBAL = 1 << 28 };
enum { IS_BLOCK = 7, IS_SHARED = 8, IS_CALLED_FROM_SHARED = 128 };

struct descriptor {
  uintptr_t reserved, size;
  void (*copy)(void *to, const void *from);
  void (*dispose)(const void *block);
};

struct block {
  void *class;
  volatile int flags, reserved;
  void (*invoke)(void *block);
  const struct descriptor *descriptor;
};

struct shared {
  void *class;
  struct shared *place;
  volatile int flags, size;
  void (*keep)(struct shared *to, struct shared *from);
  void (*destroy)(struct shared *variable);
};

void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32], *_NSConcreteMallocBlock[32];

static void *copied(const void *from, size_t size) {
  void *copy = malloc(size);
  if (!copy) abort();
  return memcpy(copy, from, size);
}

static void retain(volatile int *flags) { __atomic_fetch_add(flags, ONE, __ATOMIC_RELAXED); }

static int release(volatile int *flags) { return (__atomic_sub_fetch(flags, ONE, __ATOMIC_ACQ_REL) & COUNT) == 0; }

void *_Block_copy(const void *raw) {
  struct block *block = (struct block *)raw;
  if (!block || block->flags & IS_GLOBAL) return block;
  if (block->flags & IS_ON_HEAP) {
    retain(&block->flags);
    return block;
  }
  struct block *copy = copied(block, block->descriptor->size);
  copy->class = _NSConcreteMallocBlock;
  copy->flags = (block->flags & ~COUNT) | IS_ON_HEAP | ONE;
  if (copy->flags & HAS_HELPERS) copy->descriptor->copy(copy, block);
  return copy;
}

void _Block_release(const void *raw) {
  struct block *block = (struct block *)raw;
  if (!block || !(block->flags & IS_ON_HEAP) || !release(&block->flags)) return;
  if (block->flags & HAS_HELPERS) block->descriptor->dispose(block);
  free(block);
}

// The variable moves to the heap with the first block that does. That block and the frame count one reference each.
static struct shared *catch_shared(struct shared *variable) {
  if (variable->place->flags & IS_ON_HEAP) {
    retain(&variable->place->flags);
    return variable->place;
  }
  struct shared *copy = copied(variable, (size_t)variable->size);
  copy->flags = (variable->flags & ~COUNT) | IS_ON_HEAP | 2 * ONE;
  copy->place = variable->place = copy;
  if (copy->flags & HAS_HELPERS) copy->keep(copy, variable);
  return copy;
}

static void drop_shared(struct shared *variable) {
  variable = variable->place;
  if (!(variable->flags & IS_ON_HEAP) || !release(&variable->flags)) return;
  if (variable->flags & HAS_HELPERS) variable->destroy(variable);
  free(variable);
}

void _Block_object_assign(void *to, const void *object, int kind) {
  const void *caught = object;
  if (!(kind & IS_CALLED_FROM_SHARED) && (kind & IS_BLOCK) == IS_BLOCK) caught = _Block_copy(object);
  if (!(kind & IS_CALLED_FROM_SHARED) && kind & IS_SHARED) caught = catch_shared((struct shared *)object);
  *(const void **)to = caught;
}

void _Block_object_dispose(const void *object, int kind) {
  if (kind & IS_CALLED_FROM_SHARED) return;
  if ((kind & IS_BLOCK) == IS_BLOCK) _Block_release(object);
  if (kind & IS_SHARED) drop_shared((struct shared *)object);
}
