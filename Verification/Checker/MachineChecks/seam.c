// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The least that the machine needs of a core, for its comparison with the real kernel: fibres that run in turn until they
/// wait, one schedule, memory as it is.

#include "CheckerSeam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "CPlatform.h"

enum { most_fibres = 64, stack_size = 256 << 10, most_events = 256 };

typedef struct {
  ucontext_t context;
  gc_thread record;
  void (*body)(void *);
  void *argument;
  bool exists, waits;
  uintptr_t key;
  uint64_t deadline;
  int outcome;
} fibre;

static fibre fibres[most_fibres];
static uint32_t current, fibre_count;
static uint64_t now = 1000000000;
static struct {
  uint64_t at, id;
  void (*fire)(void *);
  void *context;
} events[most_events];
static uint64_t last_event;
static void (*resets[8])(void);
static int reset_count;

static void switch_to(uint32_t next) {
  uint32_t before = current;
  if (next == before) return;
  fibres[before].record = gc_thread_record;
  current = next;
  gc_thread_record = fibres[next].record;
  swapcontext(&fibres[before].context, &fibres[next].context);
}

/// The nearest deadline or event comes to pass; false if there is none.
static bool let_time_pass(void) {
  uint64_t nearest = UINT64_MAX;
  int event = -1;
  for (int i = 0; i < most_events; i++)
    if (events[i].id != 0 && events[i].at < nearest) nearest = events[i].at, event = i;
  uint32_t who = 0;
  for (uint32_t i = 1; i <= fibre_count; i++)
    if (fibres[i].exists && fibres[i].waits && fibres[i].deadline < nearest) nearest = fibres[i].deadline, who = i;
  if (nearest == UINT64_MAX) return false;
  if (nearest > now) now = nearest;
  if (who != 0) {
    fibres[who].waits = false;
    fibres[who].outcome = CK_TIMED_OUT;
  } else {
    events[event].id = 0;
    events[event].fire(events[event].context);
  }
  return true;
}

static void run_another(void) {
  for (;;) {
    for (uint32_t step = 1; step <= fibre_count; step++) {
      uint32_t next = (current + step - 1) % fibre_count + 1;
      if (fibres[next].exists && !fibres[next].waits) return switch_to(next);
    }
    if (!let_time_pass()) ck_fail("nothing can run");
  }
}

static void begin(void) {
  fibres[current].body(fibres[current].argument);
  fibres[current].exists = false;
  run_another();
}

void ck_point(const char *what, const void *address) { (void)what, (void)address; }
void ck_pause(void) { run_another(); }
void ck_barrier_all(void) {}
void ck_kernel_sync(const void *object) { (void)object; }
void ck_kernel_store32(void *word, uint32_t value) { *(volatile uint32_t *)word = value; }
uint32_t ck_kernel_take32(const void *word) { return *(const volatile uint32_t *)word; }
void ck_kernel_give32(void *word, uint32_t value) { *(volatile uint32_t *)word = value; }
bool ck_is_alone(void) { return true; }
void ck_kernel_look(const char *what, const void *object) {
  (void)what;
  (void)object;
}
uint32_t ck_choose(uint32_t count, const char *what) { return (void)count, (void)what, 0; }
uint32_t ck_branch(uint32_t count, const char *what) { return (void)count, (void)what, 0; }
void ck_abandon_others(void) {}
ck_thread ck_self(void) { return current; }
void ck_set_name(const char *name) { (void)name; }

ck_thread ck_spawn(void (*body)(void *), void *argument) {
  if (fibre_count + 1 >= most_fibres) ck_fail("too many fibres");
  fibre *made = &fibres[++fibre_count];
  *made = (fibre){.body = body, .argument = argument, .exists = true};
  getcontext(&made->context);
  made->context.uc_stack.ss_sp = malloc(stack_size);
  made->context.uc_stack.ss_size = stack_size;
  makecontext(&made->context, begin, 0);
  return fibre_count;
}

int ck_block(uintptr_t key, uint64_t deadline, bool spurious, const char *what) {
  (void)spurious, (void)what;
  fibre *self = &fibres[current];
  self->waits = true;
  self->key = key;
  self->deadline = deadline;
  run_another();
  return self->outcome;
}

int ck_wake(uintptr_t key, int count) {
  int woken = 0;
  for (uint32_t i = 1; i <= fibre_count && woken < count; i++) {
    if (!fibres[i].exists || !fibres[i].waits || fibres[i].key != key) continue;
    fibres[i].waits = false;
    fibres[i].outcome = CK_WOKEN;
    woken++;
  }
  return woken;
}

int ck_blocked(uintptr_t key) {
  int count = 0;
  for (uint32_t i = 1; i <= fibre_count; i++) count += fibres[i].exists && fibres[i].waits && fibres[i].key == key;
  return count;
}

uint32_t ck_newest32(const void *word) { return *(const volatile uint32_t *)word; }
uint64_t ck_uptime(void) { return now += 50; }

uint64_t ck_at(uint64_t uptime, void (*fire)(void *), void *context) {
  for (int i = 0; i < most_events; i++) {
    if (events[i].id != 0) continue;
    events[i].at = uptime, events[i].fire = fire, events[i].context = context;
    return events[i].id = ++last_event;
  }
  ck_fail("too many events");
}

void ck_cancel_event(uint64_t id) {
  for (int i = 0; i < most_events; i++)
    if (events[i].id == id) events[i].id = 0;
}

void ck_set_resting(bool resting) { (void)resting; }
void ck_memory_made(void *memory, size_t size) { (void)memory, (void)size; }
void ck_memory_gone(void *memory, size_t size) { (void)memory, (void)size; }
void ck_plain_read(const void *address, size_t size) { (void)address, (void)size; }
void ck_plain_write(void *address, size_t size) { (void)address, (void)size; }

void ck_fail(const char *line) {
  fflush(stdout);
  fprintf(stderr, "failed: %s\n", line);
  _Exit(1);
}

void ck_on_reset(void (*reset)(void)) { resets[reset_count++] = reset; }

extern void run_checks(void);

int main(void) {
  for (int i = 0; i < reset_count; i++) resets[i]();
  memset(fibres, 0, sizeof fibres);
  fibre_count = current = 1;
  fibres[1].exists = true;
  run_checks();
  return 0;
}
