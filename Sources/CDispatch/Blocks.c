// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Blocks are made by the program's compiler; copying and releasing them is done by the runtime library that the program
// is linked with. A program without blocks has none, and needs none: the references are weak.

#include <stdlib.h>

#include "CDispatchGlue.h"

extern void *_Block_copy(const void *block) __attribute__((__weak__));
extern void _Block_release(const void *block) __attribute__((__weak__));
extern void *_NSConcreteMallocBlock[32] __attribute__((__weak__));
extern void *_NSConcreteGlobalBlock[32] __attribute__((__weak__));

// Called back, see the Swift side.
extern void gcd_work_item_run(void *item);
extern void gcd_work_item_release(void *item);

void *gcd_block_copy(const void *block) { return _Block_copy(block); }

void gcd_block_release(const void *block) { _Block_release(block); }

// The layout and the flags are those of the ABI of blocks, which compilers and runtimes share.
enum {
  REFERENCE = 2,
  NEEDS_FREE = 1 << 24,
  HAS_COPY_AND_DISPOSE = 1 << 25,
  IS_GLOBAL = 1 << 28,
};

struct descriptor {
  uintptr_t reserved, size;
  void (*copy)(void *target, const void *source);
  void (*dispose)(const void *block);
};

struct work_item_block {
  struct gcd_block head;
  void *item, *body;
};

void gcd_work_item_invoke(void *block) { gcd_work_item_run(((struct work_item_block *)block)->item); }

// Never called: the block is on the heap from the start, and copying it counts a reference.
static void copy(void *target, const void *source) {
  (void)target;
  (void)source;
}

static void dispose(const void *block) { gcd_work_item_release(((const struct work_item_block *)block)->item); }

static const struct descriptor descriptor = {0, sizeof(struct work_item_block), copy, dispose};

// By this function libraries beneath recognise blocks that stand for work items.
extern void (*const _dispatch_block_special_invoke)(void *block);
void (*const _dispatch_block_special_invoke)(void *block) = gcd_work_item_invoke;

void *gcd_work_item_block(void *item, void *body) {
  struct work_item_block *block = malloc(sizeof *block);
  if (!block) return NULL;
  *block = (struct work_item_block){
      {_NSConcreteMallocBlock, NEEDS_FREE | HAS_COPY_AND_DISPOSE | REFERENCE, 0, gcd_work_item_invoke,
       &descriptor}, item, body};
  return block;
}

// The destructors that a program names stand for functions of the C library. They are never called as blocks by the
// library itself, which recognises them, but a program may.
static void destroyed_by_name(void *block) { (void)block; }

static const struct descriptor plain = {0, sizeof(struct gcd_block), NULL, NULL};

static const struct gcd_block free_block = {_NSConcreteGlobalBlock, IS_GLOBAL, 0, destroyed_by_name, &plain};
static const struct gcd_block munmap_block = {_NSConcreteGlobalBlock, IS_GLOBAL, 0, destroyed_by_name, &plain};
static const struct gcd_block none_block = {_NSConcreteGlobalBlock, IS_GLOBAL, 0, destroyed_by_name, &plain};

const dispatch_block_t _dispatch_data_destructor_free = (dispatch_block_t)&free_block;
const dispatch_block_t _dispatch_data_destructor_munmap = (dispatch_block_t)&munmap_block;
__attribute__((__visibility__("default"))) const dispatch_block_t _dispatch_data_destructor_none =
    (dispatch_block_t)&none_block;
