// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the C face needs and Swift cannot say: the addresses of the static objects, and blocks.

#ifndef C_DISPATCH_GLUE_H
#define C_DISPATCH_GLUE_H

#include <dispatch/dispatch.h>

/// The sizes of the static objects. Programs copy them at load: they may become smaller, never larger.
enum {
  GCD_MAIN_QUEUE_SIZE = 128,
  GCD_ATTRIBUTES_SIZE = 64512,
  GCD_SOURCE_TYPE_SIZE = 48,
  GCD_EMPTY_DATA_SIZE = 80,
};

static inline void *gcd_main_queue(void) { return (void *)&_dispatch_main_q; }
static inline void *gcd_attributes(void) { return (void *)&_dispatch_queue_attr_concurrent; }
static inline void *gcd_empty_data(void) { return (void *)&_dispatch_data_empty; }

static inline void *gcd_destructor_free(void) { return _dispatch_data_destructor_free; }
static inline void *gcd_destructor_munmap(void) { return _dispatch_data_destructor_munmap; }

/// What a source type stands for; the first word of each.
enum {
  GCD_SOURCE_DATA_ADD = 1,
  GCD_SOURCE_DATA_OR,
  GCD_SOURCE_DATA_REPLACE,
  GCD_SOURCE_TIMER,
  GCD_SOURCE_READ,
  GCD_SOURCE_WRITE,
  GCD_SOURCE_SIGNAL,
  GCD_SOURCE_PROC,
  GCD_SOURCE_VNODE,
  GCD_SOURCE_MEMORYPRESSURE,
  GCD_SOURCE_MACH_SEND,
  GCD_SOURCE_MACH_RECV,
};

/// What a data format stands for; the first word of each.
enum {
  GCD_FORMAT_NONE = 1,
  GCD_FORMAT_BASE32,
  GCD_FORMAT_BASE32HEX,
  GCD_FORMAT_BASE64,
  GCD_FORMAT_UTF8,
  GCD_FORMAT_UTF16LE,
  GCD_FORMAT_UTF16BE,
  GCD_FORMAT_UTF_ANY,
};

/// Memory from `malloc`; there is no going on without.
void *gcd_allocate(size_t size);

/// What a static object stands for.
static inline uintptr_t gcd_first_word(const void *type) { return *(const uintptr_t *)type; }

/// The head of a block, as compilers lay it out.
struct gcd_block {
  const void *isa;
  int flags;
  int reserved;
  void (*invoke)(void *block);
  const void *descriptor;
};

static inline void (*gcd_block_function(const void *block))(void *) {
  return ((const struct gcd_block *)block)->invoke;
}

static inline void gcd_block_call(void *block) { ((struct gcd_block *)block)->invoke(block); }

static inline void gcd_block_call_index(void *block, size_t index) {
  ((void (*)(void *, size_t))(void *)((struct gcd_block *)block)->invoke)(block, index);
}

static inline void gcd_block_call_error(void *block, int error) {
  ((void (*)(void *, int))(void *)((struct gcd_block *)block)->invoke)(block, error);
}

static inline void gcd_block_call_data(void *block, void *data, int error) {
  ((void (*)(void *, void *, int))(void *)((struct gcd_block *)block)->invoke)(block, data, error);
}

static inline void gcd_block_call_done(void *block, bool done, void *data, int error) {
  ((void (*)(void *, bool, void *, int))(void *)((struct gcd_block *)block)->invoke)(block, done, data, error);
}

static inline bool gcd_block_call_region(
    void *block, void *region, size_t offset, const void *buffer, size_t size) {
  return ((bool (*)(void *, void *, size_t, const void *, size_t))(void *)((struct gcd_block *)block)->invoke)(
      block, region, offset, buffer, size);
}

/// The block on the heap, with a reference for the caller.
void *gcd_block_copy(const void *block);
void gcd_block_release(const void *block);

/// A block on the heap that stands for a work item: calling it calls `gcd_work_item_run`, its end `gcd_work_item_release`.
void *gcd_work_item_block(void *item);

/// The work item that a block stands for; NULL for any other block.
void *gcd_block_work_item(const void *block);

#endif
