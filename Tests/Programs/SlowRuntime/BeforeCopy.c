// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#include "SlowRuntime.h"

#include <pthread.h>
#include <stddef.h>

static void (*_Atomic body)(void);

void gc_test_before_copy(void (*next)(void)) { body = next; }

static void prepare(void) {
  void (*next)(void) = body;
  body = NULL;
  if (next) next();
}

// Before the library's constructor: what is registered first is called last.
__attribute__((constructor(101))) static void begin(void) { pthread_atfork(prepare, NULL, NULL); }
