// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What code compiled with -fsanitize=thread calls, in place of the sanitizer's own runtime: every access is told to the
// caches, every atomic operation carried out, in sequential consistency. Nothing here looks for races.
#include <string.h>

#include "internal.h"

#define SITE __builtin_return_address(0)

static inline void plain(const volatile void *address, size_t size, access_kind kind, const void *site) {
  if (self == NULL) return;
  machine_step();
  cache_access(address, size, kind, site);
}

#define PLAIN(size)                                                                        \
  void __tsan_read##size(void *a) { plain(a, size, access_read, SITE); }                   \
  void __tsan_write##size(void *a) { plain(a, size, access_write, SITE); }                 \
  void __tsan_unaligned_read##size(void *a) { plain(a, size, access_read, SITE); }         \
  void __tsan_unaligned_write##size(void *a) { plain(a, size, access_write, SITE); }       \
  void __tsan_read_write##size(void *a) { plain(a, size, access_write, SITE); }            \
  void __tsan_unaligned_read_write##size(void *a) { plain(a, size, access_write, SITE); }  \
  void __tsan_volatile_read##size(void *a) { plain(a, size, access_read, SITE); }          \
  void __tsan_volatile_write##size(void *a) { plain(a, size, access_write, SITE); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, unsigned long size) { plain(a, size, access_read, SITE); }
void __tsan_write_range(void *a, unsigned long size) { plain(a, size, access_write, SITE); }
void __tsan_vptr_read(void **a) { plain(a, sizeof(*a), access_read, SITE); }
void __tsan_vptr_update(void **a, void *value) {
  (void)value;
  plain(a, sizeof(*a), access_write, SITE);
}

void *__tsan_memcpy(void *to, const void *from, size_t size) {
  plain(from, size, access_read, SITE);
  plain(to, size, access_write, SITE);
  return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size) {
  plain(from, size, access_read, SITE);
  plain(to, size, access_write, SITE);
  return memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, size_t size) {
  plain(to, size, access_write, SITE);
  return memset(to, byte, size);
}

void __tsan_init(void) {}
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
/// Marks the start of an access to a property; no access itself.
void __tsan_external_write(void *a, void *caller, void *tag) {
  (void)a;
  (void)caller;
  (void)tag;
}
void __tsan_func_entry(void *caller) {
  (void)caller;
  if (self != NULL) machine_spend(cost_function);
}

// MARK: Atomics

static inline void modify(const volatile void *address, size_t size, const void *site) {
  if (self == NULL) return;
  machine_step();
  cache_access(address, size, access_rmw, site);
  if (counting) total.atomics++;
}

static inline void note(const void *site, _Bool took) {
  if (self != NULL) cache_note(site, took);
}

#define SEQ __ATOMIC_SEQ_CST

#define FETCH(bits, T, name)                                                       \
  T __tsan_atomic##bits##_fetch_##name(volatile T *a, T value, int order) {        \
    (void)order;                                                                   \
    modify(a, sizeof(T), SITE);                                                    \
    note(SITE, 1);                                                                 \
    return __atomic_fetch_##name(a, value, SEQ);                                   \
  }

#define COMPARE(bits, T, strength, weak)                                                                         \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile T *a, T *expected, T desired, int order,        \
                                                        int failure) {                                           \
    (void)order, (void)failure;                                                                                  \
    modify(a, sizeof(T), SITE);                                                                                  \
    int done = __atomic_compare_exchange_n(a, expected, desired, weak, SEQ, SEQ);                                \
    note(SITE, done);                                                                                            \
    return done;                                                                                                 \
  }

#define ATOMIC(bits, T)                                                                                          \
  T __tsan_atomic##bits##_load(const volatile T *a, int order) {                                                 \
    (void)order;                                                                                                 \
    plain(a, sizeof(T), access_read, SITE);                                                                      \
    return __atomic_load_n(a, SEQ);                                                                              \
  }                                                                                                              \
  void __tsan_atomic##bits##_store(volatile T *a, T value, int order) {                                          \
    plain(a, sizeof(T), access_write, SITE);                                                                     \
    if (order == SEQ && self != NULL) machine_spend(cost_atomic);                                                \
    __atomic_store_n(a, value, SEQ);                                                                             \
  }                                                                                                              \
  T __tsan_atomic##bits##_exchange(volatile T *a, T value, int order) {                                          \
    (void)order;                                                                                                 \
    modify(a, sizeof(T), SITE);                                                                                  \
    T old = __atomic_exchange_n(a, value, SEQ);                                                                  \
    note(SITE, old != 0);                                                                                        \
    return old;                                                                                                  \
  }                                                                                                              \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T *a, T expected, T desired, int order, int failure) {   \
    (void)order, (void)failure;                                                                                  \
    modify(a, sizeof(T), SITE);                                                                                  \
    T seen = expected;                                                                                           \
    note(SITE, __atomic_compare_exchange_n(a, &seen, desired, 0, SEQ, SEQ));                                     \
    return seen;                                                                                                 \
  }                                                                                                              \
  COMPARE(bits, T, strong, 0)                                                                                    \
  COMPARE(bits, T, weak, 1)                                                                                      \
  FETCH(bits, T, add)                                                                                            \
  FETCH(bits, T, sub)                                                                                            \
  FETCH(bits, T, and)                                                                                            \
  FETCH(bits, T, or)                                                                                             \
  FETCH(bits, T, xor)                                                                                            \
  FETCH(bits, T, nand)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
  (void)order;
  if (self != NULL) {
    machine_step();
    machine_spend(cost_atomic);
    if (counting) total.fences++;
  }
  __atomic_thread_fence(SEQ);
}

void __tsan_atomic_signal_fence(int order) { (void)order; }
