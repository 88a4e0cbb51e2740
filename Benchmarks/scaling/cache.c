// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The caches: one per thread, without end. For each line: which threads have a valid copy, and which one wrote it last. An
// access moves the line if it reads what another thread has written since, or writes where another thread has a copy.
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

enum { line_size = 64, word_size = 8, words = line_size / word_size, set_words = most_threads / 64 };

typedef struct set {
  uint64_t bits[set_words];
} set;

typedef struct line {
  uintptr_t key;     // address / 64; 0: free
  uint64_t free_at;  // a transfer of it begins no earlier: lines move one at a time
  uint32_t writer;   // 0: nobody has written it
  set copies;        // the threads that have one
  set seen[words];   // the threads that know the word's present value
} line;

typedef struct site {
  const void *at;  // NULL: free
  uintptr_t key;   // of the line; 0: the site's calls
  uint64_t moved[3], falsely, calls, took;
} site;

enum { line_slots = 1 << 20, site_slots = 1 << 18 };

counters total;
bool counting;

static line *lines;
static site *sites;
static size_t lines_used, sites_used;

static void *fresh(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) machine_fail("no memory for the tables");
  return memory;
}

static size_t spread(uint64_t value) { return (size_t)(value * 0x9E3779B97F4A7C15u >> 32); }

static line *find_line(uintptr_t key) {
  if (lines == NULL) lines = fresh(line_slots * sizeof(line));
  size_t at = spread(key) % line_slots;
  while (lines[at].key != 0 && lines[at].key != key) at = (at + 1) % line_slots;
  return &lines[at];
}

static site *find_site(const void *at, uintptr_t key) {
  if (sites == NULL) sites = fresh(site_slots * sizeof(site));
  size_t i = spread((uintptr_t)at ^ key * 31) % site_slots;
  while (sites[i].at != NULL && (sites[i].at != at || sites[i].key != key)) i = (i + 1) % site_slots;
  if (sites[i].at == NULL) {
    if (++sites_used > site_slots / 4 * 3) machine_fail("too many sites: do fewer operations");
    sites[i].at = at;
    sites[i].key = key;
  }
  return &sites[i];
}

// MARK: Sets of threads

static bool holds(const set *s, uint32_t id) { return s->bits[id / 64] >> id % 64 & 1; }
static void add(set *s, uint32_t id) { s->bits[id / 64] |= (uint64_t)1 << id % 64; }

static void hold_only(set *s, uint32_t id) {
  *s = (set){0};
  add(s, id);
}

static bool holds_others(const set *s, uint32_t id) {
  for (uint32_t i = 0; i < set_words; i++) {
    uint64_t mine = i == id / 64 ? (uint64_t)1 << id % 64 : 0;
    if ((s->bits[i] & ~mine) != 0) return true;
  }
  return false;
}

// MARK: Lines

static thread *owner_of_stack(uintptr_t address) {
  for (uint32_t i = 1; i < thread_count; i++) {
    if (address >= threads[i].stack && address < threads[i].stack_end) return &threads[i];
  }
  return NULL;
}

/// The line's record; NULL if no other thread can meet it: the thread's own stack, as long as no other has touched it.
static line *line_for(uintptr_t key) {
  line *l = find_line(key);
  if (LIKELY(l->key != 0)) return l;
  thread *owner = owner_of_stack(key * line_size);
  if (owner == self) return NULL;
  if (++lines_used > line_slots / 4 * 3) machine_fail("too many lines: do fewer operations");
  l->key = key;
  if (owner != NULL && owner->state != thread_gone) {
    l->writer = owner->id;
    add(&l->copies, owner->id);
    for (int word = 0; word < words; word++) add(&l->seen[word], owner->id);
  }
  return l;
}

/// Whether the line has moved for what else is in it: the thread knows the words' values, or nobody else does.
static bool moves_falsely(const line *l, int first, int last, access_kind kind) {
  for (int word = first; word <= last; word++) {
    const set *seen = &l->seen[word];
    if (kind == access_read ? !holds(seen, self->id) : holds_others(seen, self->id)) return false;
  }
  return true;
}

/// Waits for the line: requests are served in order, and until its arrival it stays with the thread that has it. What that
/// thread does with it meanwhile comes first.
static void await_line(line *l) {
  uint64_t begins = l->free_at > self->clock ? l->free_at : self->clock;
  l->free_at = begins + cost_transfer;
  machine_spend(l->free_at - self->clock);
  machine_step();
}

static void count_move(const line *l, int first, int last, access_kind kind, const void *at) {
  if (!counting) return;
  bool falsely = moves_falsely(l, first, last, kind);
  site *s = find_site(at, l->key);
  s->moved[kind]++;
  s->falsely += falsely;
  total.moved[kind]++;
  total.falsely += falsely;
}

static bool must_move(const line *l, access_kind kind) {
  uint32_t id = self->id;
  if (kind != access_read) return holds_others(&l->copies, id);
  return !holds(&l->copies, id) && l->writer != 0 && l->writer != id;
}

static void access_line(uintptr_t key, int first, int last, access_kind kind, const void *at) {
  line *l = line_for(key);
  if (l == NULL) return;
  if (must_move(l, kind)) {
    await_line(l);
    count_move(l, first, last, kind, at);
  }
  void (*take)(set *, uint32_t) = kind == access_read ? add : hold_only;
  take(&l->copies, self->id);
  for (int word = first; word <= last; word++) take(&l->seen[word], self->id);
  if (kind != access_read) l->writer = self->id;
}

void cache_access(const volatile void *address, size_t size, access_kind kind, const void *at) {
  if (size == 0) return;
  uintptr_t begin = (uintptr_t)address, last = begin + size - 1;
  for (uintptr_t key = begin / line_size; key <= last / line_size; key++) {
    uintptr_t from = key == begin / line_size ? begin % line_size : 0;
    uintptr_t to = key == last / line_size ? last % line_size : line_size - 1;
    access_line(key, (int)(from / word_size), (int)(to / word_size), kind, at);
  }
  machine_spend(kind == access_rmw ? cost_atomic : cost_access);
}

void cache_ask(const void *address, const void *at) {
  line *l = address == NULL ? NULL : line_for((uintptr_t)address / line_size);
  if (l != NULL && must_move(l, access_write)) {
    await_line(l);
    int word = (int)((uintptr_t)address % line_size / word_size);
    count_move(l, word, word, access_write, at);
    hold_only(&l->copies, self->id);
  }
  machine_spend(cost_access);
}

// MARK: Sites

void cache_note(const void *at, bool took) {
  if (!counting) return;
  site *s = find_site(at, 0);
  s->calls++;
  s->took += took;
}

void cache_forget_counts(void) {
  total = (counters){0};
  if (sites != NULL) memset(sites, 0, site_slots * sizeof(site));
  sites_used = 0;
}

extern const char __executable_start[];

void cache_print_sites(void) {
  const char *separator = "";
  printf("[");
  for (size_t i = 0; sites != NULL && i < site_slots; i++) {
    const site *s = &sites[i];
    if (s->at == NULL) continue;
    // The return address is behind the call.
    printf("%s{\"at\":%lu,\"line\":%lu,\"moved\":[%lu,%lu,%lu],\"falsely\":%lu,\"calls\":%lu,\"took\":%lu}", separator,
           (unsigned long)((const char *)s->at - __executable_start - 1), (unsigned long)s->key,
           (unsigned long)s->moved[access_read], (unsigned long)s->moved[access_write],
           (unsigned long)s->moved[access_rmw], (unsigned long)s->falsely, (unsigned long)s->calls,
           (unsigned long)s->took);
    separator = ",";
  }
  printf("]");
}
