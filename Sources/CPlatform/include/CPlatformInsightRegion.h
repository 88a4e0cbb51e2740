//===- CPlatformInsightRegion.h - the process's own region ------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// How the library makes the region, where its fields are, and the region as text. What lies where: CPlatformInsight.h.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_INSIGHT_REGION_H
#define GC_CPLATFORM_INSIGHT_REGION_H

#include "CPlatformInsight.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// What the head has in the region's file: the largest page of any architecture.
#define GC_INSIGHT_PAGE 65536

/// The largest page of this architecture. A linker lays the program's data out by what is aligned most, so this costs each program up
/// to as much of its file.
#if defined(__x86_64__)
#define GC_LARGEST_PAGE 4096
#else
#define GC_LARGEST_PAGE 65536
#endif

/// The head: memory of the library's own, until the region is made and its first page is mapped here.
/// The alignment is said here as well: without it, clang asks libatomic to read the switches where arrays are not aligned by themselves.
extern __attribute__((visibility("hidden"), aligned(GC_LARGEST_PAGE))) unsigned char gc_insight_page[GC_LARGEST_PAGE];

/// The switches that are on.
static inline __attribute__((always_inline)) uint32_t gc_insight_switches(void) {
  // relaxed: a setting, which no code waits for.
  return __atomic_load_n((const uint32_t *)gc_insight_page, __ATOMIC_RELAXED);
}

/// The switches with which code that records is called at all. All are in the first byte.
#define GC_INSIGHT_HEARS (GC_SWITCH_RECORD | GC_SWITCH_SIMULATE | GC_SWITCH_PROBE)

/// Whether one of those is on: where a compiler knows only how to load an atomic word and test it, this is one instruction less.
static inline __attribute__((always_inline)) bool gc_insight_hears(void) {
#if defined(__x86_64__)
  bool hears;
  __asm__ volatile("testb %2, %1" : "=@ccnz"(hears) : "m"(*(const uint32_t *)gc_insight_page), "i"(GC_INSIGHT_HEARS));
  return hears;
#else
  return (gc_insight_switches() & GC_INSIGHT_HEARS) != 0;
#endif
}

/// Whether objects are to be listed: the same for one switch.
static inline __attribute__((always_inline)) bool gc_insight_lists(void) {
#if defined(__x86_64__)
  bool lists;
  __asm__ volatile("testb %2, %1" : "=@ccnz"(lists) : "m"(*(const uint32_t *)gc_insight_page), "i"(GC_SWITCH_OBJECTS));
  return lists;
#else
  return (gc_insight_switches() & GC_SWITCH_OBJECTS) != 0;
#endif
}

#pragma GCC visibility push(default)
/// The code that an item calls in the end: only the C library, which knows of blocks, has this function. A hidden symbol that is missing
/// would seem to be there.
extern uintptr_t gcd_code_of_job(uintptr_t job, uintptr_t function) __attribute__((weak));
#pragma GCC visibility pop

/// The same; elsewhere it is `function`, which runs the item.
static inline uintptr_t gc_code_of_job(uintptr_t job, uintptr_t function) {
  return gcd_code_of_job ? gcd_code_of_job(job, function) : function;
}

static inline gc_insight_head *GC_NONNULL gc_insight_own_head(void) { return (gc_insight_head *)gc_insight_page; }

// Where a field is that others look at while its writer changes it. Swift counts the address of a field as a use of the whole
// structure, and so does its ThreadSanitizer.
#define GC_INSIGHT_ADDRESS(structure, type, field)                                                                        \
  static inline __attribute__((always_inline)) type *GC_NONNULL gc_insight_##structure##_##field(                         \
      gc_insight_##structure *GC_NONNULL entry) {                                                                         \
    return (type *)&entry->field;                                                                                         \
  }
GC_INSIGHT_ADDRESS(head, uint32_t, switches)
GC_INSIGHT_ADDRESS(head, uint32_t, parallelism)
GC_INSIGHT_ADDRESS(head, uint32_t, unlisted)
GC_INSIGHT_ADDRESS(head, uint64_t, lost)
GC_INSIGHT_ADDRESS(thread, uint32_t, tid)
GC_INSIGHT_ADDRESS(thread, uint32_t, sequence)
GC_INSIGHT_ADDRESS(thread, void, waits_for)
GC_INSIGHT_ADDRESS(thread, void, inside)
GC_INSIGHT_ADDRESS(object, uint32_t, sequence)
GC_INSIGHT_ADDRESS(object, void, label)
GC_INSIGHT_ADDRESS(name, uint32_t, length)
GC_INSIGHT_ADDRESS(name, void, text)
GC_INSIGHT_ADDRESS(chunk, uint32_t, state)
GC_INSIGHT_ADDRESS(chunk, uint32_t, count)
GC_INSIGHT_ADDRESS(chunk, uint64_t, number)
GC_INSIGHT_ADDRESS(chunk, void, name)
#undef GC_INSIGHT_ADDRESS

/// The library's own copy of the words of `head.workers`: those that are written before the region is there go to it later.
extern __attribute__((visibility("hidden"))) uint32_t gc_insight_workers[GC_INSIGHT_WORKERS];

/// The worker of that index has begun, and has the kernel's number `tid`; 0: it has an entry, or has ended. Each word has one writer.
static inline void gc_insight_show_worker(size_t index, uint32_t tid) {
  if (index >= GC_INSIGHT_WORKERS) return;
  uint32_t *shown = (uint32_t *)(void *)(gc_insight_page + GC_INSIGHT_WORKERS_OFFSET);
  // seq-cst: one that writes its own copy too late for `gc_insight_make` to find it writes the region's page.
  __atomic_store_n(&gc_insight_workers[index], tid, __ATOMIC_SEQ_CST);
  // relaxed: a figure for readers in other processes.
  __atomic_store_n(&shown[index], tid, __ATOMIC_RELAXED);
}

static inline gc_insight_state *GC_NONNULL gc_insight_object_state(gc_insight_object *GC_NONNULL entry) {
  return (gc_insight_state *)(void *)entry->label;
}
/// The same for a copy of an entry.
static inline gc_insight_state gc_insight_state_of(const gc_insight_object *GC_NONNULL entry) {
  gc_insight_state state;
  __builtin_memcpy(&state, entry->label, sizeof state);
  return state;
}
static inline uint64_t *GC_NONNULL gc_insight_state_count(gc_insight_state *GC_NONNULL state) { return &state->count; }
/// A timer's schedule. The caller changes the entry's sequence, as for the next one.
static inline void gc_insight_state_schedule(
    gc_insight_state *GC_NONNULL state, uint64_t due, uint64_t interval, uint64_t leeway, uint32_t clock) {
  state->due = due;
  state->interval = interval;
  state->bytes = leeway;
  state->clock = clock;
}
/// A channel's descriptor, its operations, and the barriers that wait for them.
static inline void gc_insight_state_operations(
    gc_insight_state *GC_NONNULL state, int32_t descriptor, uint64_t count, uint32_t barriers) {
  state->handle = (uint32_t)descriptor;
  state->count = count;
  state->clock = barriers;
}
/// Since when a channel's read, or its write, waits; for `due` also when a group has changed.
static inline void gc_insight_state_since(gc_insight_state *GC_NONNULL state, bool reads, uint64_t moment) {
  // relaxed: a figure for readers in other processes.
  __atomic_store_n(reads ? &state->due : &state->interval, moment, __ATOMIC_RELAXED);
}
static inline uint64_t *GC_NONNULL gc_insight_state_bytes(gc_insight_state *GC_NONNULL state) { return &state->bytes; }
static inline void *GC_NONNULL gc_insight_state_what(gc_insight_state *GC_NONNULL state) { return state->what; }

/// Makes everything in the entry zero that stands behind its sequence, except for what earlier threads have lost: a reader may
/// not have seen that yet.
static inline void gc_insight_thread_clear(gc_insight_thread *GC_NONNULL entry) {
  uint64_t lost = entry->lost;
  __builtin_memset(&entry->role, 0, sizeof *entry - offsetof(gc_insight_thread, role));
  entry->lost = lost;
}

/// The thread has no chunk any more, and may look for one.
static inline void gc_insight_forget_chunk(gc_thread *GC_NONNULL thread) {
  thread->record_chunk = NULL;
  thread->record_count = 0;
  thread->record_limit = 0;
}

/// Whether the thread, which has found no free chunk, waits before it looks for one again.
static inline bool gc_insight_pauses(gc_thread *GC_NONNULL thread) {
  if (thread->record_chunk != NULL || thread->record_count == 0) return false;
  thread->record_count -= 1;
  return true;
}

/// Makes a region of `size` bytes, or takes the one that was handed down. Fills its first page in from `head`, maps that page
/// over `gc_insight_page`, and the whole of it to `*base`. Returns its descriptor, or -errno; then nothing has changed.
int gc_insight_make(size_t size, const gc_insight_head *head, void **base);

/// A file without a name, for a region or for a page to hand down: its descriptor, which is closed on exec; or -errno.
int gc_insight_descriptor(void);

/// Child of a fork: the parent's region is not the child's. The page becomes private and zero, but for `switches`. `base` is
/// NULL where the region was not yet known.
void gc_insight_leave(void *base, size_t size, int descriptor, uint32_t switches);

/// The most threads that have an entry.
#define GC_INSIGHT_THREADS 1024

/// The first entry of a thread, below `count`, that is free now; or -1. The caller holds the region's lock, for the next two
/// as well.
int gc_insight_take_entry(int count);
void gc_insight_give_back_entry(int index);
void gc_insight_forget_entries(void);

/// The switches that the environment has asked for when the program began: GRANDCENTRAL_INSPECT is `1` (objects are numbered when they are made),
/// GRANDCENTRAL_RECORD is `ring` (the newest records are kept) or `collect` (a tool takes them away). They are on when the program's
/// first instruction runs.
uint32_t gc_insight_wishes(void);

/// Whether the process's address space is limited.
bool gc_insight_is_cramped(void);

// MARK: - As text

/// Writes what the threads and the objects of the process do, a line each, `most` of either. For signal handlers as well: it takes
/// no lock and allocates nothing. False if there is no region, or if it cannot be written.
bool gc_insight_dump(int descriptor, uint32_t most);

/// The process ends because of a fault: the same, to standard error or where GRANDCENTRAL_DUMP says; nothing if that is `off`.
void gc_insight_dump_at_fault(void);

/// The region has been made, and is what is written; NULL: it is not the process's any more.
void gc_insight_dump_from(void *base, const gc_insight_head *head);

/// Where the region that is written begins, and its parts; NULL if there is none.
void *gc_insight_dumped(gc_insight_head *head);

// MARK: - As a core file

/// Writes what tools read of the process to a file, from its begin: a core file with the region and nothing else of the process's
/// memory. For signal handlers as well, as `gc_insight_dump`; it needs some 4 KiB of the stack. False if there is no region, if the
/// descriptor is that of no plain file or appends to it, if another thread writes one for so many milliseconds, or if it cannot be
/// written.
bool gc_insight_write_core(int descriptor, uint32_t patience);

/// The process ends because of a fault: the same, to where GRANDCENTRAL_CORE says, if that is a path.
void gc_insight_write_core_at_fault(void);

/// The calling thread is about to end the process because of a fault. The first such thread returns at once; others wait until that
/// one has written what is to be written and has ended the process, or for ten seconds.
void gc_insight_await_fault(void);

/// Child of a fork: the thread that may have been writing a core file is the parent's.
void gc_insight_forget_core(void);

/// One entry as it was at one moment. False if it changes at each look: its thread may be the one that looks.
bool gc_insight_copy_whole(void *copy, const void *entry, size_t size, uint32_t *sequence);

/// Copies what another thread may change meanwhile: the caller looks at `sequence` before and afterwards.
void gc_insight_copy(void *to, const void *from, size_t size);

/// The calling thread's name, as the kernel knows it; 16 bytes, with a zero at the end.
void gc_thread_get_name(char *name);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
