// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Patterns whose counts follow from what a cache is. Compiled as the library is, with -fsanitize=thread.
#include <stdatomic.h>
#include <stdio.h>

#include "CPlatform.h"
#include "internal.h"

enum { rounds = 1000, most_members = 3, words = 8 };

/// Lines of their own, each pattern's.
static struct {
  _Alignas(64) _Atomic uint64_t one_word;
  _Alignas(64) volatile uint64_t own_lines[2 * words];
  _Alignas(64) volatile uint64_t one_line[words];
  _Alignas(64) volatile uint64_t written_once[words];
  _Alignas(64) volatile uint64_t broadcast[words];
  _Alignas(64) volatile uint64_t neighbours[words];
  _Alignas(64) volatile uint64_t asked[words];
  _Alignas(64) _Atomic uint32_t futex_word;
  _Alignas(64) char end;
} shared;

typedef void (*turn)(int member, int round);
static turn body;
static int members;
static machine_gate turns[most_members], begun, done, awake;

/// Members take turns through gates, which are no accesses: all that is counted is the pattern.
static void take_turns(void *context) {
  int me = (int)(intptr_t)context, next = (me + 1) % members;
  turn mine = body;
  machine_arrive(&begun);
  for (int round = 0; round < rounds; round++) {
    machine_pass(&turns[me]);
    mine(me, round);
    machine_arrive(&turns[next]);
  }
  machine_arrive(&done);
}

static counters count(int how_many, turn pattern) {
  body = pattern;
  members = how_many;
  begun.left = done.left = members;
  for (int i = 0; i < members; i++) {
    turns[i].left = 1;
    machine_start(take_turns, (void *)(intptr_t)i);
  }
  machine_wait(&begun);
  machine_begin();
  machine_arrive(&turns[0]);
  machine_wait(&done);
  machine_end();
  return total;
}

static void increment_one_word(int member, int round) {
  (void)member, (void)round;
  atomic_fetch_add(&shared.one_word, 1);
}

static void write_own_line(int member, int round) { shared.own_lines[member * words] = (uint64_t)round; }
static void write_own_word(int member, int round) { shared.one_line[member] = (uint64_t)round; }
static void read_one_word(int member, int round) { (void)member, (void)round, (void)shared.written_once[0]; }

static void first_writes_others_read(int member, int round) {
  if (member == 0) shared.broadcast[0] = (uint64_t)round;
  (void)shared.broadcast[0];
}

static void one_writes_other_reads_beside(int member, int round) {
  if (member == 0) shared.neighbours[0] = (uint64_t)round;
  else (void)shared.neighbours[1];
}

static void ask_read_and_write(int member, int round) {
  (void)member;
  gc_prefetch_write((const void *)&shared.asked[0]);
  shared.asked[0] += (uint64_t)round;
}

static void use_stack(int member, int round) {
  volatile uint64_t mine[words];
  for (int i = 0; i < words; i++) mine[i] = (uint64_t)(member + round);
  (void)mine[round % words];
}

static void sleep_again_and_again(void *context) {
  (void)context;
  for (int i = 0; i < rounds; i++) {
    gc_futex_wait((const void *)&shared.futex_word, 0, NULL);
    machine_arrive(&awake);
  }
  machine_arrive(&done);
}

static counters count_wakes(void) {
  done.left = awake.left = 1;
  machine_start(sleep_again_and_again, NULL);
  machine_begin();
  for (int i = 0; i < rounds; i++) {
    // Long enough for the other to have blocked; the pause lets it.
    machine_work(1000000);
    gc_pause();
    gc_futex_wake((const void *)&shared.futex_word, 1);
    machine_pass(&awake);
  }
  machine_wait(&done);
  machine_end();
  return total;
}

static uint64_t moved(counters c) { return c.moved[access_read] + c.moved[access_write] + c.moved[access_rmw]; }

static bool is(const char *what, uint64_t counted, uint64_t expected) {
  if (counted == expected) return true;
  fprintf(stderr, "machine: %s: counted %lu, expected %lu\n", what, (unsigned long)counted, (unsigned long)expected);
  return false;
}

bool machine_check_itself(void) {
  bool right = true;
  // The first to touch a line takes it from nobody.
  counters c = count(2, increment_one_word);
  right &= is("one word in turns: moved by read-modify-writes", c.moved[access_rmw], 2 * rounds - 1);
  right &= is("one word in turns: moved", moved(c), 2 * rounds - 1);
  right &= is("one word in turns: atomics", c.atomics, 2 * rounds);
  right &= is("one word in turns: falsely", c.falsely, 0);
  right &= is("one word in turns: its value", atomic_load(&shared.one_word), 2 * rounds);

  right &= is("a line each: moved", moved(count(2, write_own_line)), 0);

  c = count(2, write_own_word);
  right &= is("a word each in one line: moved by writes", c.moved[access_write], 2 * rounds - 1);
  right &= is("a word each in one line: falsely", c.falsely, 2 * rounds - 1);

  right &= is("readers alone: moved", moved(count(3, read_one_word)), 0);

  c = count(3, first_writes_others_read);
  right &= is("a writer and two readers: moved by reads", c.moved[access_read], 2 * rounds);
  right &= is("a writer and two readers: moved by writes", c.moved[access_write], rounds - 1);
  right &= is("a writer and two readers: falsely", c.falsely, 0);

  c = count(2, ask_read_and_write);
  right &= is("a line that is asked for, read and written: moved by asking", c.moved[access_write], 2 * rounds - 1);
  right &= is("a line that is asked for, read and written: moved", moved(c), 2 * rounds - 1);

  c = count(2, one_writes_other_reads_beside);
  right &= is("a reader beside a writer: moved by reads", c.moved[access_read], rounds);
  right &= is("a reader beside a writer: moved by writes", c.moved[access_write], rounds - 1);
  // The first read is of a word that the reader has not seen before.
  right &= is("a reader beside a writer: falsely", c.falsely, 2 * rounds - 2);

  right &= is("each on its stack: moved", moved(count(2, use_stack)), 0);

  c = count_wakes();
  right &= is("a sleeper: woken", c.woken, rounds);
  right &= is("a sleeper: wake calls", c.wake_calls, rounds);
  right &= is("a sleeper: slept", c.blocks, rounds);
  return right;
}
