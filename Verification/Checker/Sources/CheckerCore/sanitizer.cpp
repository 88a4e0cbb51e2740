// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the thread sanitizer's instrumentation calls: the library's plain reads and writes. The core checks them for races;
/// the sanitizer's own runtime is not there.

#include "core.h"

namespace {
inline __attribute__((always_inline)) void read(void *address, size_t size) {
  if (ck::isRunning()) ck::plainRead(reinterpret_cast<uintptr_t>(address), size, __builtin_return_address(0));
}
inline __attribute__((always_inline)) void write(void *address, size_t size) {
  if (ck::isRunning()) ck::plainWrite(reinterpret_cast<uintptr_t>(address), size, __builtin_return_address(0));
}
}  // namespace

extern "C" {

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
// A deinitialiser. That it comes after every other use of the object is known from the references that were given up (Heap.c in
// the machine); what it does itself is not looked at.
void __tsan_ignore_thread_begin(void) {
  if (ck::isRunning()) ck::self().ignores++;
}
void __tsan_ignore_thread_end(void) {
  if (ck::isRunning()) ck::self().ignores--;
}

#define CK_ACCESS(size)                                                               \
  void __tsan_read##size(void *address) { read(address, size); }                      \
  void __tsan_write##size(void *address) { write(address, size); }                    \
  void __tsan_unaligned_read##size(void *address) { read(address, size); }            \
  void __tsan_unaligned_write##size(void *address) { write(address, size); }          \
  void __tsan_volatile_read##size(void *address) { read(address, size); }             \
  void __tsan_volatile_write##size(void *address) { write(address, size); }           \
  void __tsan_read_write##size(void *address) { write(address, size); }               \
  void __tsan_unaligned_read_write##size(void *address) { write(address, size); }
CK_ACCESS(1)
CK_ACCESS(2)
CK_ACCESS(4)
CK_ACCESS(8)
CK_ACCESS(16)

void __tsan_read_range(void *address, size_t size) { read(address, size); }
void __tsan_write_range(void *address, size_t size) { write(address, size); }
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}

void *__tsan_memcpy(void *to, const void *from, size_t size) {
  read(const_cast<void *>(from), size);
  write(to, size);
  return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
  read(const_cast<void *>(from), size);
  write(to, size);
  return memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
  write(to, size);
  return memset(to, value, size);
}

// Swift's own rule, about `inout` of whole values: not a matter of memory.
void *__tsan_external_register_tag(const char *) { return nullptr; }
void __tsan_external_register_header(void *, const char *) {}
void __tsan_external_assign_tag(void *, void *) {}
void __tsan_external_read(void *, void *, void *) {}
void __tsan_external_write(void *, void *, void *) {}

// Atomic operations that are not the library's: the compiler's caches of metadata.
#define CK_ATOMIC(bits)                                                                                            \
  typedef uint##bits##_t a##bits;                                                                                  \
  a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int) { return __atomic_load_n(a, 5); }             \
  void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits v, int) { __atomic_store_n(a, v, 5); }             \
  a##bits __tsan_atomic##bits##_exchange(volatile a##bits *a, a##bits v, int) {                                    \
    return __atomic_exchange_n(a, v, 5);                                                                           \
  }                                                                                                                \
  a##bits __tsan_atomic##bits##_fetch_add(volatile a##bits *a, a##bits v, int) {                                   \
    return __atomic_fetch_add(a, v, 5);                                                                            \
  }                                                                                                                \
  a##bits __tsan_atomic##bits##_fetch_sub(volatile a##bits *a, a##bits v, int) {                                   \
    return __atomic_fetch_sub(a, v, 5);                                                                            \
  }                                                                                                                \
  a##bits __tsan_atomic##bits##_fetch_and(volatile a##bits *a, a##bits v, int) {                                   \
    return __atomic_fetch_and(a, v, 5);                                                                            \
  }                                                                                                                \
  a##bits __tsan_atomic##bits##_fetch_or(volatile a##bits *a, a##bits v, int) {                                    \
    return __atomic_fetch_or(a, v, 5);                                                                             \
  }                                                                                                                \
  a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits e, a##bits v, int, int) {        \
    __atomic_compare_exchange_n(a, &e, v, false, 5, 5);                                                            \
    return e;                                                                                                      \
  }
CK_ATOMIC(8)
CK_ATOMIC(16)
CK_ATOMIC(32)
CK_ATOMIC(64)
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}
}
