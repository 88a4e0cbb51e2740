// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "CPlatformSanitizer.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if __has_feature(thread_sanitizer)
#include <stdatomic.h>

static atomic_size_t reports;
static _Atomic(void (*)(void)) listener;

// ThreadSanitizer calls it for each report. Its own one is weak, and comes first where libraries are linked: so this one is not weak.
__attribute__((no_sanitize("thread"), visibility("default"))) void __tsan_on_report(void *report) {
  (void)report;
  atomic_fetch_add_explicit(&reports, 1, memory_order_relaxed);
  // With `halt_on_error` the process ends when this function is back.
  void (*heard)(void) = atomic_load_explicit(&listener, memory_order_acquire);
  if (heard != NULL) heard();
}

void gc_sanitizer_listen(void (*heard)(void)) { atomic_store_explicit(&listener, heard, memory_order_release); }

size_t gc_sanitizer_reports(void) { return atomic_load_explicit(&reports, memory_order_relaxed); }
#else
void gc_sanitizer_listen(void (*heard)(void)) { (void)heard; }
size_t gc_sanitizer_reports(void) { return 0; }
#endif
