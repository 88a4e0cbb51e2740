// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "ThreadLocals.h"

static _Thread_local char storage[124 << 10];

char *gc_test_thread_local(unsigned place) { return &storage[place % sizeof storage]; }
