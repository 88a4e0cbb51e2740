// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// How a row is measured, and what the files of rows share.

#ifndef METER_H
#define METER_H

#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/// How many operations a sample has, in parts of the least.
extern unsigned scale;

static inline double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// Does `body` with a few operations, so that threads and memory are there, then with `count`; prints the nanoseconds of
/// one, by the clock and of the processors.
static inline void measure(const char *name, long count, void (*body)(long)) {
  body(count / 50 + 1);
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  body(count);
  wall = seconds(CLOCK_MONOTONIC) - wall;
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  printf("%s\t%.2f\t%.2f\n", name, wall * 1e9 / (double)count, cpu * 1e9 / (double)count);
  fflush(stdout);
}

static inline void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

void coordination_rows(void);
void wait_rows(void);
void event_rows(void);

#endif
