// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The machine's processors. Each thread has one to itself, and a clock that its own accesses move. One thread runs at a
// time in truth: the one whose clock is furthest behind, until it is ahead of the next by a random part of the slack.
// Threads that wait in the kernel wait here instead, in simulated time, so that a run with the same seed is the same.
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

_Thread_local thread *self;
thread threads[most_threads];
uint32_t thread_count = 1;  // 0 means nobody
static thread *running;
static uint64_t limit;  // the running thread's turn ends when its clock is past this
static uint64_t turns, randomness, switches;

enum { slack = 16, standstill_seconds = 20 };

void machine_fail(const char *why) {
  fprintf(stderr, "machine: %s\n", why);
  for (uint32_t i = 1; i < thread_count; i++) {
    const thread *t = &threads[i];
    if (t->state == thread_gone) continue;
    fprintf(stderr, "  thread %u: %s%s, clock %lu\n", i, t->state == thread_ready ? "ready" : "blocked",
            t == running ? ", running" : "", (unsigned long)t->clock);
  }
  abort();
}

static uint64_t random_below(uint64_t bound) {
  randomness ^= randomness << 13;
  randomness ^= randomness >> 7;
  randomness ^= randomness << 17;
  return randomness % bound;
}

// MARK: Turns

static uint64_t due(const thread *t) {
  switch (t->state) {
    case thread_ready: return t->clock;
    case thread_blocked: return t->deadline;
    default: return NEVER;
  }
}

/// The thread that is furthest behind; sets the end of its turn.
static thread *choose(void) {
  thread *first = NULL;
  uint64_t earliest = NEVER, second = NEVER;
  for (uint32_t i = 1; i < thread_count; i++) {
    uint64_t at = due(&threads[i]);
    if (at < earliest) {
      second = earliest;
      earliest = at;
      first = &threads[i];
    } else if (at < second) {
      second = at;
    }
  }
  limit = second > NEVER - slack ? NEVER : second + random_below(slack);
  return first;
}

static void await_turn(void) {
  struct timespec patience = {.tv_sec = standstill_seconds};
  while (__atomic_load_n(&self->go, __ATOMIC_ACQUIRE) == 0) {
    uint64_t before = __atomic_load_n(&switches, __ATOMIC_RELAXED);
    long r = syscall(SYS_futex, &self->go, FUTEX_WAIT_PRIVATE, 0, &patience, NULL, 0);
    if (r < 0 && errno == ETIMEDOUT && before == __atomic_load_n(&switches, __ATOMIC_RELAXED)) {
      machine_fail("the running thread waits for something that the machine does not know");
    }
  }
  __atomic_store_n(&self->go, 0, __ATOMIC_RELAXED);
}

static void let_run(thread *next) {
  running = next;
  __atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&next->go, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &next->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void switch_away(void) {
  thread *next = choose();
  if (next == NULL) machine_fail("every thread waits, and no deadline will end it");
  if (next == self) return;
  bool ends = self->state == thread_gone;  // its record may be another's as soon as that runs
  let_run(next);
  if (!ends) await_turn();
}

void machine_step(void) {
  if (LIKELY(self->clock <= limit) || self->unswitchable != 0) return;
  switch_away();
}

void machine_spend(uint64_t nanoseconds) {
  self->clock += nanoseconds;
  self->busy += nanoseconds;
}

// MARK: Waiting

bool machine_block(const void *channel, uint64_t deadline) {
  if (self->unswitchable != 0) machine_fail("a thread waits while it must not be switched");
  if (deadline != NEVER && deadline <= self->clock) return true;
  self->channel = channel;
  self->deadline = deadline;
  self->turn = turns++;
  self->state = thread_blocked;
  switch_away();
  if (self->state == thread_ready) return false;
  // Chosen while blocked: the deadline has come.
  self->state = thread_ready;
  self->channel = NULL;
  if (self->clock < self->deadline) self->clock = self->deadline;
  return true;
}

int machine_wake(const void *channel, int most) {
  int woken = 0;
  for (; woken < most; woken++) {
    thread *longest = NULL;
    for (uint32_t i = 1; i < thread_count; i++) {
      thread *t = &threads[i];
      if (t->state != thread_blocked || t->channel != channel) continue;
      if (longest == NULL || t->turn < longest->turn) longest = t;
    }
    if (longest == NULL) break;
    uint64_t awake = self->clock + cost_until_awake;
    longest->state = thread_ready;
    longest->channel = NULL;
    if (longest->clock < awake) longest->clock = awake;
    if (limit > longest->clock) limit = longest->clock;
  }
  return woken;
}

// MARK: Birth and death

static void know_stack(thread *t) {
  pthread_attr_t attributes;
  void *stack;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &size);
  pthread_attr_destroy(&attributes);
  t->stack = (uintptr_t)stack;
  t->stack_end = t->stack + size;
}

thread *thread_create(void (*body)(void *), void *context) {
  uint32_t id = 1;
  while (id < thread_count && threads[id].state != thread_gone) id++;
  if (id == most_threads) machine_fail("too many threads");
  thread *t = &threads[id];
  *t = (thread){.id = id, .clock = self->clock + cost_until_started, .body = body, .context = context};
  if (id == thread_count) thread_count++;
  if (limit > t->clock) limit = t->clock;
  return t;
}

static pthread_key_t exit_key;

/// Lets the destructors of all other thread-local data go first: they belong to what is simulated.
static void end(void *round) {
  if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(exit_key, (void *)((uintptr_t)round + 1));
    return;
  }
  self->state = thread_gone;
  switch_away();
  self = NULL;
}

void thread_run(void *created) {
  thread *t = created;
  t->tid = (uint32_t)syscall(SYS_gettid);
  know_stack(t);
  self = t;
  __atomic_store_n(&t->arrived, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &t->arrived, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  pthread_setspecific(exit_key, (void *)1);
  await_turn();
  // Where lines begin in a frame is chance: threads differ in it, so that no layout of a frame is lucky throughout.
  char shift[16 * (t->id % 4) + 1];
  __asm__ volatile("" ::"r"(shift) : "memory");
  t->body(t->context);
}

void thread_await_arrival(thread *created) {
  while (__atomic_load_n(&created->arrived, __ATOMIC_ACQUIRE) == 0) {
    syscall(SYS_futex, &created->arrived, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
}

static void *start_routine(void *created) {
  thread_run(created);
  return NULL;
}

void machine_start(void (*body)(void *), void *context) {
  thread *t = thread_create(body, context);
  pthread_t handle;
  if (pthread_create(&handle, NULL, start_routine, t) != 0) machine_fail("a thread cannot be started");
  pthread_detach(handle);
  thread_await_arrival(t);
}

static void boot(uint64_t seed) {
  // A switch between two threads of one processor costs a tenth of one between processors.
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof(here), &here);
  // As on a machine with many processors: no thread shares its part of the heap.
  mallopt(M_ARENA_MAX, 4 * most_threads);
  randomness = seed * 0x9E3779B97F4A7C15u + 1;
  limit = NEVER;
  pthread_key_create(&exit_key, end);
  self = running = &threads[thread_count];
  *self = (thread){.id = thread_count++, .tid = (uint32_t)syscall(SYS_gettid)};
  know_stack(self);
}

// MARK: What the probe uses

void machine_run(uint64_t seed, void (*body)(void *), void *context) {
  boot(seed);
  // On a stack of its own: where the first thread's begins depends on the environment, and with it what shares lines.
  machine_start(body, context);
  static machine_gate never = {.left = 1};
  machine_wait(&never);
}

void machine_arrive(machine_gate *gate) {
  if (--gate->left == 0) machine_wake(gate, INT_MAX);
}

void machine_wait(machine_gate *gate) {
  while (gate->left > 0) machine_block(gate, NEVER);
}

void machine_pass(machine_gate *gate) {
  machine_wait(gate);
  gate->left = 1;
}

static machine_gate items;

void machine_expect_items(int64_t count) { items.left = count; }
void machine_item_done(void) { machine_arrive(&items); }
void machine_wait_for_items(void) { machine_wait(&items); }
void machine_work(uint64_t nanoseconds) { machine_spend(nanoseconds); }
