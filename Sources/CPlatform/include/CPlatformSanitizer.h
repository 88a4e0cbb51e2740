// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What ThreadSanitizer is told: a program that is built with it, on a library that is not, would report races where
/// this library has put one thing after another.

#ifndef C_PLATFORM_SANITIZER_H
#define C_PLATFORM_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void __tsan_release(void *address) __attribute__((__weak__));
extern void __tsan_acquire(void *address) __attribute__((__weak__));

/// Whether a sanitizer wants to be told.
static inline bool gc_is_watched(void) { return __builtin_expect(__tsan_release != NULL, 0); }

/// What the thread has done so far comes before whatever follows a `gc_comes_after` with the same address.
static inline void gc_comes_before(void *address) {
  if (__builtin_expect(__tsan_release != NULL, 0)) __tsan_release(address);
}

/// See `gc_comes_before`.
static inline void gc_comes_after(void *address) {
  if (__builtin_expect(__tsan_acquire != NULL, 0)) __tsan_acquire(address);
}

#ifdef __cplusplus
}
#endif

#endif
