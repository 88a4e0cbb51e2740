// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the C face needs and Swift cannot say: the addresses of the static objects, and blocks.

#ifndef C_DISPATCH_GLUE_H
#define C_DISPATCH_GLUE_H

#include <CPlatformSanitizer.h>
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
extern const dispatch_block_t _dispatch_data_destructor_none;
static inline void *gcd_destructor_none(void) { return _dispatch_data_destructor_none; }

/// The count of an object, its second word. 0 and all ones stand for objects that are not counted; the uppermost bit is
/// the compiler's own.
static inline uintptr_t *gcd_count(void *object) { return (uintptr_t *)object + 1; }

static inline bool gcd_is_counted(uintptr_t count) { return (count << 1) + 2 > 2; }

#ifdef GRANDCENTRAL_SHARED_RUNTIME

/// The count of a new object, as the process's Swift runtime counts.
enum { GCD_FIRST_COUNT = 3 };

extern void *swift_retain(void *object);
extern void swift_release(void *object);

static inline void gcd_object_retain(void *object) {
  if (gcd_is_counted(__atomic_load_n(gcd_count(object), __ATOMIC_RELAXED))) swift_retain(object);
}

static inline void gcd_object_release(void *object) {
  if (!gcd_is_counted(__atomic_load_n(gcd_count(object), __ATOMIC_RELAXED))) return;
  // Which reference is the last one is known to the runtime only: each comes after those before it.
  gc_comes_before(object);
  gc_comes_after(object);
  swift_release(object);
}

#else

/// The count of a new object: one for each reference. The compiler's retain and release do the same as these.
enum { GCD_FIRST_COUNT = 1 };

static inline void gcd_object_retain(void *object) {
  if (gcd_is_counted(__atomic_load_n(gcd_count(object), __ATOMIC_RELAXED)))
    __atomic_fetch_add(gcd_count(object), 1, __ATOMIC_RELAXED);
}

/// Gives up a reference that may be the last one, or under ThreadSanitizer.
void gcd_object_release_slow(void *object);

/// The reference that was given up was the last one.
void gcd_object_end(void *object);

static inline void gcd_object_release(void *object) {
  uintptr_t count = __atomic_load_n(gcd_count(object), __ATOMIC_RELAXED);
  if (!gcd_is_counted(count)) return;
  if (count == 1 || gc_is_watched()) {
    gcd_object_release_slow(object);
  } else if (__atomic_fetch_sub(gcd_count(object), 1, __ATOMIC_ACQ_REL) == 1) {
    gcd_object_end(object);
  }
}

#endif

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

/// A copy in memory from `malloc`; NULL for NULL and for nothing.
char *gcd_copy_text(const char *text);

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

/// The address of the code that a block calls: of one that Swift has made of a closure, the closure's.
uintptr_t gcd_code_of_block(const void *block);

/// The block on the heap, with a reference for the caller.
void *gcd_block_copy(const void *block);
void gcd_block_release(const void *block);

/// A block on the heap that stands for a work item: calling it calls `gcd_work_item_run`, its end `gcd_work_item_release`.
/// `body` is what it runs, see `gcd_block_body`.
void *gcd_work_item_block(void *item, void *body);

/// The function of such blocks, by which they are recognised.
extern void gcd_work_item_invoke(void *block) __attribute__((__visibility__("hidden")));

/// The work item that a block stands for; NULL for any other block.
static inline void *gcd_block_work_item(const void *block) {
  const struct gcd_block *head = (const struct gcd_block *)block;
  return head->invoke == gcd_work_item_invoke ? *(void *const *)(head + 1) : NULL;
}

/// The block that a work item's block runs; by its address ThreadSanitizer is told what comes after it.
static inline void *gcd_block_body(const void *block) {
  return ((void *const *)((const struct gcd_block *)block + 1))[1];
}

#endif
