// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// theirs EVENTS: nanoseconds for an event of LTTng-UST, and for reading the counter that both read; the least of many rounds.

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "event.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline uint64_t counter(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

int main(int count, char **words) {
  long events = count > 1 ? atol(words[1]) : 1000000;
  double event = 1e9, reading = 1e9;
  volatile uint64_t last = 0;
  for (int round = 0; round < 20; round++) {
    double begun = now();
    for (long item = 0; item < events; item++)
      lttng_ust_tracepoint(gc_record, item, (uint32_t)item, (uint32_t)round, (uint64_t)item);
    double took = (now() - begun) / (double)events;
    if (took < event) event = took;
    begun = now();
    for (long item = 0; item < events; item++) last = counter();
    took = (now() - begun) / (double)events;
    if (took < reading) reading = took;
  }
  printf("%f %f\n", event, reading);
  return 0;
}
