// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "CPerturbation.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <errno.h>

static int is_off;

__attribute__((constructor)) static void configure(void) {
  const char *wish = getenv("GC_PERTURB");
  is_off = wish && wish[0] == '0';
}

static _Thread_local uint64_t seed;

static uint64_t next(void) {
  if (!seed) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)(uintptr_t)&seed) | 1;
  }
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

void gc_perturb(void) {
  if (is_off) return;
  uint64_t chance = next();
  if (chance % 32) return;
  chance >>= 8;
  if (chance % 64 == 0) {
    // The thread leaves its processor, as if its time were up. The library reads errno of its own calls only.
    int kept = errno;
    struct timespec some = {0, (long)(5000 + (chance >> 8) % 60000)};
    nanosleep(&some, NULL);
    errno = kept;
    return;
  }
  // Most often shorter than a cache miss, now and then some microseconds.
  uint64_t turns = (chance >> 8) % (chance % 8 ? 40 : 1000);
  for (volatile uint64_t turn = 0; turn < turns; turn++) {
  }
}
