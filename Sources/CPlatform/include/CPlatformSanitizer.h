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
extern void AnnotateIgnoreSyncBegin(const char *file, int line) __attribute__((__weak__));
extern void AnnotateIgnoreSyncEnd(const char *file, int line) __attribute__((__weak__));
extern void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((__weak__));
extern void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((__weak__));
extern void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((__weak__));
extern void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((__weak__));

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

// By __FILE__ all that is built would tell the folder that it was built in, and differ from place to place.
#define GC_THIS_FILE "CPlatformSanitizer.h"

/// What the calling thread does until `gc_seen_again` puts nothing in order for the sanitizer, and is no race.
static inline void gc_unseen(void) {
  if (!gc_is_watched()) return;
  if (AnnotateIgnoreSyncBegin != NULL) AnnotateIgnoreSyncBegin(GC_THIS_FILE, __LINE__);
  if (AnnotateIgnoreReadsBegin != NULL) AnnotateIgnoreReadsBegin(GC_THIS_FILE, __LINE__);
  if (AnnotateIgnoreWritesBegin != NULL) AnnotateIgnoreWritesBegin(GC_THIS_FILE, __LINE__);
}

static inline void gc_seen_again(void) {
  if (!gc_is_watched()) return;
  if (AnnotateIgnoreSyncEnd != NULL) AnnotateIgnoreSyncEnd(GC_THIS_FILE, __LINE__);
  if (AnnotateIgnoreReadsEnd != NULL) AnnotateIgnoreReadsEnd(GC_THIS_FILE, __LINE__);
  if (AnnotateIgnoreWritesEnd != NULL) AnnotateIgnoreWritesEnd(GC_THIS_FILE, __LINE__);
}

#undef GC_THIS_FILE

/// How many reports ThreadSanitizer has made.
size_t gc_sanitizer_reports(void);

/// Has ThreadSanitizer call a function behind each of its reports, on the thread that has raced; NULL: none.
void gc_sanitizer_listen(void (*heard)(void));

#ifdef __cplusplus
}
#endif

#endif
