//===- peer.c - the rounds of a peer in C or C++ --------------------------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: - Meter

void meter_start(struct meter *meter) {
  meter->stopped = 0;
  meter->cpu = bench_process_cpu();
  meter->wall = bench_now();
}

void meter_stop(struct meter *meter) {
  if (meter->stopped) return;
  meter->wall_at_stop = bench_now();
  meter->cpu_at_stop = bench_process_cpu();
  meter->stopped = 1;
}

// MARK: - Work

static uint64_t steps_per_microsecond(void) {
  static uint64_t result;
  if (result != 0) return result;
  const uint64_t steps = 1000000;
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 5; i++) {
    uint64_t start = bench_now();
    bench_spin(steps);
    uint64_t duration = bench_now() - start;
    if (duration < best) best = duration;
  }
  result = steps * 1000 / (best > 0 ? best : 1);
  if (result == 0) result = 1;
  return result;
}

void peer_spin(uint64_t nanoseconds) { bench_spin(nanoseconds * steps_per_microsecond() / 1000); }

// MARK: - Crew

struct crew {
  pthread_barrier_t ready, go;
  crew_body body;
  void *context;
};

struct member {
  struct crew *crew;
  int index;
};

static void member_main(void *argument) {
  struct member *member = argument;
  pthread_barrier_wait(&member->crew->ready);
  pthread_barrier_wait(&member->crew->go);
  member->crew->body(member->index, member->crew->context);
}

void crew_run(int threads, int pinned, struct meter *meter, crew_body body, void *context) {
  int processors[1024];
  int processor_count = bench_usable_processors(processors, 1024);
  struct crew crew = {.body = body, .context = context};
  struct member members[threads];
  void *handles[threads];
  pthread_barrier_init(&crew.ready, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&crew.go, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++) {
    members[i] = (struct member){.crew = &crew, .index = i};
    int processor = pinned && processor_count > 0 ? processors[i % processor_count] : -1;
    handles[i] = bench_thread_start(processor, member_main, &members[i]);
  }
  pthread_barrier_wait(&crew.ready);
  meter_start(meter);
  pthread_barrier_wait(&crew.go);
  for (int i = 0; i < threads; i++) bench_thread_join(handles[i]);
  pthread_barrier_destroy(&crew.ready);
  pthread_barrier_destroy(&crew.go);
}

// MARK: - Rounds

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void measure(const struct operation *operation, uint64_t count, int rounds) {
  double wall[rounds], cpu[rounds];
  // The first run warms up.
  for (int round = -1; round < rounds; round++) {
    struct meter meter = {0};
    bench_sleep(1000000);
    meter_start(&meter);
    operation->body(count, &meter);
    meter_stop(&meter);
    if (round < 0) continue;
    wall[round] = (double)(meter.wall_at_stop - meter.wall) / (double)count;
    cpu[round] = (double)(meter.cpu_at_stop - meter.cpu) / (double)count;
  }
  printf("{\"row\": \"%s\", \"peer\": \"%s\", \"nanoseconds\": %.3f, \"cpu\": %.3f}\n", operation->row,
         operation->peer, median(wall, rounds), median(cpu, rounds));
  fflush(stdout);
}

static void nothing(void *context) { (void)context; }

static int usage(const char *name) {
  fprintf(stderr, "usage: %s [--list] [--rounds N] [ROW [COUNT]]\n", name);
  return 2;
}

int peer_main(int argc, char **argv, const struct operation *operations) {
  int rounds = 5;
  const char *row = NULL;
  uint64_t count = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--list") == 0) {
      for (const struct operation *o = operations; o->row; o++) printf("%s\n", o->row);
      return 0;
    } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = atoi(argv[++i]);
      if (rounds < 1) return usage(argv[0]);
    } else if (argv[i][0] == '-') {
      return usage(argv[0]);
    } else if (row == NULL) {
      row = argv[i];
    } else {
      count = strtoull(argv[i], NULL, 10);
      if (count == 0) return usage(argv[0]);
    }
  }
  steps_per_microsecond();
  // A process that never had a second thread gets locks without atomic operations from the C library.
  bench_thread_join(bench_thread_start(-1, nothing, NULL));
  for (const struct operation *o = operations; o->row; o++) {
    if (row == NULL || strcmp(row, o->row) == 0) measure(o, count > 0 ? count : o->count, rounds);
  }
  return 0;
}
