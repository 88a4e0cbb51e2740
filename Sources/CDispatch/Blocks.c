// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Blocks are made by the program's compiler; copying and releasing them is done by the runtime library that the program
// is linked with. A program without blocks has none, and needs none: the references are weak.

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "CDispatchGlue.h"
#include "CPlatformCallSites.h"

extern void *_Block_copy(const void *block) __attribute__((__weak__));
extern void _Block_release(const void *block) __attribute__((__weak__));
extern void *_NSConcreteStackBlock[32] __attribute__((__weak__));
extern void *_NSConcreteGlobalBlock[32] __attribute__((__weak__));

// Called back, see the Swift side.
extern void gcd_work_item_run(void *item);
extern void gcd_work_item_release(void *item);

void *gcd_block_copy(const void *block) { return _Block_copy(block); }

void gcd_block_release(const void *block) { _Block_release(block); }

// The layout and the flags are those of the ABI of blocks, which compilers and runtimes share.
enum {
  HAS_COPY_AND_DISPOSE = 1 << 25,
  IS_GLOBAL = 1 << 28,
};

struct descriptor {
  uintptr_t reserved, size;
  void (*copy)(void *target, const void *source);
  void (*dispose)(const void *block);
};

// MARK: The code of a block, for records

// A block that Swift has made of a closure.
struct closure_block {
  struct gcd_block head;
  uintptr_t function;
  void *context;
};

// Whether the function is one that Swift makes to call a closure from a block: only its name says that. A program has few of them.
static bool calls_closure(uintptr_t function) {
  enum { ENTRIES = 64, TRIES = 4 };
  // The functions that were asked for, and a bit with the answer. Where there is no room the answer is no.
  static _Atomic uintptr_t known[ENTRIES];
  for (size_t k = 0; k < TRIES; k++) {
    _Atomic uintptr_t *entry = &known[(function / 16 + k) % ENTRIES];
    // relaxed: a function and its answer are one word.
    uintptr_t seen = atomic_load_explicit(entry, memory_order_relaxed);
    if (seen >> 1 == function) return seen & 1;
    if (seen != 0) continue;
    int error = errno;
    char name[256], place[1];
    size_t length = (size_t)gc_describe_code((const void *)function, name, sizeof name, place, sizeof place);
    bool answer = length > 4 && strncmp(name, "$s", 2) == 0 && strcmp(name + length - 2, "TR") == 0;
    // relaxed: as above. A thread that asks at the same moment finds the same.
    atomic_store_explicit(entry, function << 1 | answer, memory_order_relaxed);
    errno = error;
    return answer;
  }
  return false;
}

uintptr_t gcd_code_of_block(const void *raw) {
  const struct gcd_block *block = raw;
  const struct descriptor *about = block->descriptor;
  uintptr_t function = (uintptr_t)block->invoke;
  bool may_be_closure = block->flags & HAS_COPY_AND_DISPOSE && about->size == sizeof(struct closure_block);
  return may_be_closure && calls_closure(function) ? ((const struct closure_block *)raw)->function : function;
}

struct work_item_block {
  struct gcd_block head;
  void *item, *body;
};

void gcd_work_item_invoke(void *block) { gcd_work_item_run(((struct work_item_block *)block)->item); }

// The reference to the item moves with the block, from the stack to the heap.
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
  // From the stack, so that the runtime begins the count: some add 2 for a reference, and some 1.
  struct work_item_block block = {
      {_NSConcreteStackBlock, HAS_COPY_AND_DISPOSE, 0, gcd_work_item_invoke, &descriptor}, item, body};
  return _Block_copy(&block);
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
