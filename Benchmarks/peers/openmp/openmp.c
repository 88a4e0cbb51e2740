//===- openmp.c - OpenMP, and the locks of the C library ------------------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "peer.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { team = 2 };

// MARK: - D: tasks

static void tasks(uint64_t n, uint64_t work) {
  atomic_ulong left = n;
#pragma omp parallel num_threads(team)
#pragma omp single
  for (uint64_t i = 0; i < n; i++) {
#pragma omp task shared(left)
    {
      if (work > 0) peer_spin(work);
      atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel);
    }
  }
  if (atomic_load(&left) != 0) abort();
}

static void global_1p(uint64_t n, struct meter *m) {
  (void)m;
  tasks(n, 0);
}

static void bodies(uint64_t n, struct meter *m) {
  (void)m;
  tasks(n, 1000);
}

/// No task waits for its children: the team waits for all of them, at its end.
static void grow(int depth) {
  if (depth == 0) return;
#pragma omp task
  grow(depth - 1);
#pragma omp task
  grow(depth - 1);
}

static void fork_tree(uint64_t n, struct meter *m) {
  (void)m;
#pragma omp parallel num_threads(team)
#pragma omp single
  grow(__builtin_ctzll(n) - 1);
}

// MARK: - G: parallel loops

static void loop(uint64_t iterations) {
#pragma omp parallel for num_threads(team) schedule(static)
  for (uint64_t i = 0; i < iterations; i++) bench_consume(i);
}

static void loop_1us(uint64_t iterations) {
#pragma omp parallel for num_threads(team) schedule(static)
  for (uint64_t i = 0; i < iterations; i++) peer_spin(1000);
}

static void one_loop(uint64_t n, struct meter *m) {
  (void)m;
  loop(n);
}

static void one_loop_1us(uint64_t n, struct meter *m) {
  (void)m;
  loop_1us(n);
}

static void imbalanced(uint64_t n, struct meter *m) {
  (void)m;
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (uint64_t i = 0; i < n; i++) peer_spin(i * 200);
}

static void empty_2(uint64_t n, struct meter *m) {
  (void)m;
  for (uint64_t i = 0; i < n; i++) loop(2);
}

static void empty_64(uint64_t n, struct meter *m) {
  (void)m;
  for (uint64_t i = 0; i < n; i++) loop(64);
}

static void loop_16(uint64_t n, struct meter *m) {
  (void)m;
  for (uint64_t i = 0; i < n; i++) loop_1us(16);
}

// MARK: - B: locks without contention

static void lock(uint64_t n, struct meter *m) {
  (void)m;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) {
    pthread_mutex_lock(&mutex);
    count += 1;
    pthread_mutex_unlock(&mutex);
  }
  bench_consume(count);
}

static void nested(uint64_t n, struct meter *m) {
  (void)m;
  pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    count += 1;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
  }
  bench_consume(count);
}

static void reader(uint64_t n, struct meter *m) {
  (void)m;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) {
    pthread_rwlock_rdlock(&lock);
    count += 1;
    pthread_rwlock_unlock(&lock);
  }
  bench_consume(count);
}

static void writer(uint64_t n, struct meter *m) {
  (void)m;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) {
    pthread_rwlock_wrlock(&lock);
    count += 1;
    pthread_rwlock_unlock(&lock);
  }
  bench_consume(count);
}

// MARK: - C, M: locks that threads contend for

struct contest {
  pthread_mutex_t mutex;
  pthread_rwlock_t lock;
  uint64_t count, per_thread, inside, outside;
  int writes;
};

static void contend(int index, void *context) {
  (void)index;
  struct contest *contest = context;
  for (uint64_t i = 0; i < contest->per_thread; i++) {
    pthread_mutex_lock(&contest->mutex);
    contest->count += 1;
    if (contest->inside > 0) peer_spin(contest->inside);
    pthread_mutex_unlock(&contest->mutex);
    if (contest->outside > 0) peer_spin(contest->outside);
  }
}

static void contended(uint64_t n, struct meter *m, int threads, int pinned, uint64_t inside, uint64_t outside) {
  struct contest contest = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .per_thread = n / (uint64_t)threads,
                            .inside = inside,
                            .outside = outside};
  crew_run(threads, pinned, m, contend, &contest);
  if (contest.count != contest.per_thread * (uint64_t)threads) abort();
}

static void contended_2(uint64_t n, struct meter *m) { contended(n, m, 2, 1, 0, 0); }
static void contended_2_in(uint64_t n, struct meter *m) { contended(n, m, 2, 1, 1000, 0); }
static void contended_2_in_out(uint64_t n, struct meter *m) { contended(n, m, 2, 1, 1000, 1000); }
static void contended_8(uint64_t n, struct meter *m) { contended(n, m, 8, 0, 0, 0); }

static void read_and_write(int index, void *context) {
  (void)index;
  struct contest *contest = context;
  for (uint64_t i = 0; i < contest->per_thread; i++) {
    if (contest->writes && i % 20 == 0) {
      pthread_rwlock_wrlock(&contest->lock);
      contest->count += 1;
    } else {
      pthread_rwlock_rdlock(&contest->lock);
      bench_consume(contest->count);
    }
    pthread_rwlock_unlock(&contest->lock);
  }
}

static void mixed(uint64_t n, struct meter *m, int threads, int pinned, int writes) {
  struct contest contest = {
      .lock = PTHREAD_RWLOCK_INITIALIZER, .per_thread = n / (uint64_t)threads, .writes = writes};
  crew_run(threads, pinned, m, read_and_write, &contest);
}

static void mixed_2(uint64_t n, struct meter *m) { mixed(n, m, 2, 1, 1); }
static void mixed_8(uint64_t n, struct meter *m) { mixed(n, m, 8, 0, 1); }
static void readers_2(uint64_t n, struct meter *m) { mixed(n, m, 2, 1, 0); }

// MARK: - F: semaphores

struct table {
  sem_t semaphores[2];
  uint64_t per_thread;
};

static void play(int index, void *context) {
  struct table *table = context;
  for (uint64_t i = 0; i < table->per_thread; i++) {
    if (index == 0) sem_post(&table->semaphores[1]);
    sem_wait(&table->semaphores[index]);
    if (index == 1) sem_post(&table->semaphores[0]);
  }
}

static void ping_pong(uint64_t n, struct meter *m) {
  struct table table = {.per_thread = n / 2};
  sem_init(&table.semaphores[0], 0, 0);
  sem_init(&table.semaphores[1], 0, 0);
  crew_run(2, 1, m, play, &table);
}

static void semaphore(uint64_t n, struct meter *m) {
  (void)m;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  for (uint64_t i = 0; i < n; i++) {
    sem_post(&semaphore);
    sem_wait(&semaphore);
  }
}

int main(int argc, char **argv) {
  const struct operation operations[] = {
      {"B.sync-void", "pthread_mutex", 1000000, lock},
      {"B.sync-returning", "pthread_mutex", 1000000, lock},
      {"B.sync-nested", "pthread_mutex", 1000000, nested},
      {"B.sync-reader", "pthread_rwlock", 1000000, reader},
      {"B.sync-barrier", "pthread_rwlock", 1000000, writer},
      {"C.2-threads", "pthread_mutex", 200000, contended_2},
      {"C.2-threads-1us-in", "pthread_mutex", 20000, contended_2_in},
      {"C.2-threads-1us-in-1us-out", "pthread_mutex", 20000, contended_2_in_out},
      {"C.8-threads", "pthread_mutex", 200000, contended_8},
      {"D.global-1p", "OpenMP", 200000, global_1p},
      {"D.fork-tree", "OpenMP", 1 << 17, fork_tree},
      {"D.global-1us-bodies", "OpenMP", 40000, bodies},
      {"F.semaphore-ping-pong", "sem_t", 10000, ping_pong},
      {"F.semaphore-uncontended", "sem_t", 1000000, semaphore},
      {"G.1e6-x-1ns", "OpenMP", 1000000, one_loop},
      {"G.1e4-x-1us", "OpenMP", 10000, one_loop_1us},
      {"G.imbalanced", "OpenMP", 1000, imbalanced},
      {"G.2-empty", "OpenMP", 50000, empty_2},
      {"G.64-empty", "OpenMP", 20000, empty_64},
      {"G.16-x-1us", "OpenMP", 4000, loop_16},
      {"M.95-5-2-threads", "pthread_rwlock", 200000, mixed_2},
      {"M.95-5-8-threads", "pthread_rwlock", 200000, mixed_8},
      {"M.readers-2-threads", "pthread_rwlock", 200000, readers_2},
      {NULL, NULL, 0, NULL},
  };
  return peer_main(argc, argv, operations);
}
