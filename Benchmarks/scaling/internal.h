// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the parts of the machine know of each other.
#ifndef MACHINE_INTERNAL_H
#define MACHINE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

#define NEVER UINT64_MAX
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { most_threads = 256 };

// Nanoseconds of simulated time, in the order of magnitude of a server's processor. They decide nothing but the order
// in which threads that run at the same time get to a line.
enum {
  cost_function = 1,
  cost_access = 1,
  cost_atomic = 5,
  cost_transfer = 60,
  cost_pause = 45,
  cost_clock = 20,
  cost_call = 300,
  cost_wake_call = 1500,
  cost_until_awake = 5000,
  cost_until_started = 20000,
};

typedef enum { thread_ready, thread_blocked, thread_gone } thread_state;

typedef struct thread {
  uint64_t clock;     // this thread's present
  uint64_t busy;      // of it, time that it ran
  uint64_t deadline;  // blocked: when it goes on by itself
  uint64_t turn;      // blocked: in which order they began
  const void *channel;
  thread_state state;
  int arrived;        // real futex: the thread exists
  int go;             // real futex: it may run
  unsigned unswitchable;
  uint32_t id, tid;
  uintptr_t stack, stack_end;
  void (*body)(void *);
  void *context;
} thread;

// MARK: threads.c

extern _Thread_local thread *self;  // NULL: the machine does not know this thread
extern thread threads[most_threads];
extern uint32_t thread_count;

/// A point at which another thread may go on: those with the earliest present run first.
void machine_step(void);
void machine_spend(uint64_t nanoseconds);

/// Blocks on the channel. True when the deadline, simulated time, has passed.
bool machine_block(const void *channel, uint64_t deadline);
/// Wakes up to `most` of those that have blocked longest. How many.
int machine_wake(const void *channel, int most);

thread *thread_create(void (*body)(void *), void *context);
/// What a created thread runs first.
void thread_run(void *created);
/// Waits until the thread has come to the machine: what it does before is not simulated, and no other thread runs beside it.
void thread_await_arrival(thread *created);

_Noreturn void machine_fail(const char *why);

// MARK: cache.c

typedef enum { access_read, access_write, access_rmw } access_kind;

typedef struct counters {
  uint64_t moved[3];  // transfers of lines, by kind of access
  uint64_t falsely;   // of them, those because of another word in the line
  uint64_t atomics;   // read-modify-writes of the library's own words
  uint64_t counts;    // read-modify-writes of reference counts
  uint64_t fences;
  uint64_t wake_calls, woken, blocks, spawned, calls;
} counters;

extern counters total;
extern bool counting;

void cache_access(const volatile void *address, size_t size, access_kind kind, const void *site);
/// The thread asks for the line at an address, and for all copies of it; any address will do.
void cache_ask(const void *address, const void *site);
/// A read-modify-write was done at `site`; `took`: it got what it wanted (an exchange something that is not zero).
void cache_note(const void *site, bool took);
void cache_forget_counts(void);
/// Prints the sites as a JSON list.
void cache_print_sites(void);

#endif
