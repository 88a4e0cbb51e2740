//===- Random.c - random numbers that a seed repeats --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <sys/random.h>

static GCS_REAL(ssize_t, getrandom, (void *bytes, size_t count, unsigned flags), (bytes, count, flags))
static GCS_REAL(int, getentropy, (void *bytes, size_t count), (bytes, count))

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
  if (!gcs_is_simulated()) return __wrap_getrandom(bytes, count, flags);
  gcs_random(bytes, count);
  return (ssize_t)count;
}

int getentropy(void *bytes, size_t count) {
  if (!gcs_is_simulated() || count > 256) return __wrap_getentropy(bytes, count);
  gcs_random(bytes, count);
  return 0;
}
