// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The rare ways of giving up a reference, out of line so that the common one needs no frame.

#include "CDispatchGlue.h"

// The process's Swift runtime has its own ways.
#ifndef GRANDCENTRAL_SHARED_RUNTIME

// The compiler's own, for the last reference.
extern void swift_release(void *object);

void gcd_object_end(void *object) {
  __atomic_store_n(gcd_count(object), 1, __ATOMIC_RELAXED);
  gc_comes_after(object);
  swift_release(object);
}

void gcd_object_release_slow(void *object) {
  gc_comes_before(object);
  // The thread that has given up the last reference but one comes before: the store in `gcd_object_end` hides that from the
  // runtime.
  if (__atomic_load_n(gcd_count(object), __ATOMIC_ACQUIRE) != 1 &&
      __atomic_fetch_sub(gcd_count(object), 1, __ATOMIC_ACQ_REL) != 1)
    return;
  gcd_object_end(object);
}

#endif
