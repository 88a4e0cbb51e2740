// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The objects of a run, and what it allocates by unsafe pointers, lie in the machine's arena as well: at the same addresses
/// each time, gone when the run is over however it ends, and found when they are used after their end.
///
/// The functions of the runtime's that compiled code calls are defined here, before the runtime's own: in a run they take
/// from the arena. What the runtime allocates for itself (metadata, caches) stays in the C library's memory, and so does what
/// is allocated between runs. So `free`, which every block comes to, looks where the block lies.

#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "Machine.h"

extern void __libc_free(void *memory);

void free(void *memory) {
  if (!machine_owns(memory)) {
    // The C library may hand this memory out again, so the core forgets what it knows of it.
    if (memory != NULL && ck_self() != 0) ck_memory_made(memory, malloc_usable_size(memory));
    return __libc_free(memory);
  }
  machine_free(memory);
}

size_t malloc_usable_size(void *memory) {
  static size_t (*real)(void *);
  if (machine_owns(memory)) return machine_size_of(memory);
  if (real == NULL) real = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
  return real(memory);
}

/// The mask is the alignment less one; all ones stands for the usual one.
static size_t alignment_of(size_t mask) { return mask == ~(size_t)0 || mask < 15 ? 16 : mask + 1; }

static void *take(size_t size, size_t mask) {
  if (ck_self() == 0) {
    void *memory = NULL;
    if (posix_memalign(&memory, alignment_of(mask), size == 0 ? 1 : size) != 0) abort();
    return memory;
  }
  void *memory = machine_allocate(size, alignment_of(mask));
  if (memory == NULL) ck_fail("the run has used up the machine's memory");
  return memory;
}

void *swift_slowAlloc(size_t size, size_t mask) { return take(size, mask); }

void swift_slowDealloc(void *memory, size_t size, size_t mask) {
  (void)size;
  (void)mask;
  free(memory);
}

// An object begins with its type and its counts; this is what the runtime writes there for a new one: held once.
typedef struct {
  const void *type;
  uint64_t counts;
} object;

void *swift_allocObject(const void *type, size_t size, size_t mask) {
  object *made = take(size, mask);
  *made = (object){type, 3};
  return made;
}

/// References are counted by the runtime, with an acquire and a release that the core does not see.
void swift_release(object *held) {
  static void (*real)(object *);
  if (real == NULL) real = (void (*)(object *))dlsym(RTLD_NEXT, "swift_release");
  if (held != NULL && ck_self() != 0 && machine_owns(held)) {
    if (!machine_is_made(held)) ck_fail("an object is released after its end");
    ck_reference_dropped(held);
    // The bits from 33 on count the references but one; the top one says that they are counted elsewhere.
    if (held->counts >> 33 == 0 || held->counts >> 63 != 0) ck_object_ends(held);
  }
  real(held);
}
