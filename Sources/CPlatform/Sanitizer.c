// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "CPlatformSanitizer.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if __has_feature(thread_sanitizer)
#include <stdatomic.h>

static atomic_size_t reports;

// ThreadSanitizer calls it for each report. Its own one is weak, and comes first where libraries are linked: so this one is not weak.
__attribute__((no_sanitize("thread"), visibility("default"))) void __tsan_on_report(void *report) {
  (void)report;
  atomic_fetch_add_explicit(&reports, 1, memory_order_relaxed);
}

size_t gc_sanitizer_reports(void) { return atomic_load_explicit(&reports, memory_order_relaxed); }
#else
size_t gc_sanitizer_reports(void) { return 0; }
#endif
