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

// The C library's own ones ask the kernel without a call of getrandom. The header may be an older one.
uint32_t arc4random(void);
void arc4random_buf(void *bytes, size_t count);
uint32_t arc4random_uniform(uint32_t bound);
static GCS_REAL(uint32_t, arc4random, (void), ())
static GCS_REAL(void, arc4random_buf, (void *bytes, size_t count), (bytes, count))
static GCS_REAL(uint32_t, arc4random_uniform, (uint32_t bound), (bound))

uint32_t arc4random(void) {
  if (!gcs_is_simulated()) return __wrap_arc4random();
  uint32_t number;
  gcs_random(&number, sizeof number);
  return number;
}

void arc4random_buf(void *bytes, size_t count) {
  if (!gcs_is_simulated()) return __wrap_arc4random_buf(bytes, count);
  gcs_random(bytes, count);
}

uint32_t arc4random_uniform(uint32_t bound) {
  if (!gcs_is_simulated()) return __wrap_arc4random_uniform(bound);
  return (uint32_t)(((uint64_t)arc4random() * bound) >> 32);
}
