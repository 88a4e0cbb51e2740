//===- BenchSupport.h - meters and pinned threads ---------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks need from the system and neither side of a duel may
// provide: clocks, counters, threads pinned to processors, a futex.
//
//===----------------------------------------------------------------------===//
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

// MARK: - Meters

/// CLOCK_MONOTONIC, nanoseconds.
uint64_t bench_now(void);
/// CPU time of all threads of the process, nanoseconds.
uint64_t bench_process_cpu(void);
/// Voluntary and involuntary context switches of the process.
uint64_t bench_context_switches(void);
/// Memory of the process that is in RAM; its threads.
int64_t bench_resident_bytes(void);
int64_t bench_threads(void);
/// Calls of malloc, calloc, realloc, and the aligned forms, by all threads of
/// the process since its start. The functions themselves are replaced by the
/// ones in AllocationCounter.c, which count and call the C library.
uint64_t bench_allocations(void);

/// A process that is started with this in its environment counts its system
/// calls, if the kernel permits it.
#define BENCH_COUNT_SYSTEM_CALLS "BENCH_COUNT_SYSTEM_CALLS"
/// System calls of all threads since the start, this one included; negative
/// if they are not counted.
int64_t bench_system_calls(void);
/// Whether the kernel permits it. Not for free: ask once.
int bench_can_count_system_calls(void);

// MARK: - Threads

/// Processors the process may use, at most `capacity` of them. Returns how many.
int bench_usable_processors(int *processors, int capacity);

typedef void (*bench_thread_body)(void *context);
/// Starts a thread on `processor`, or anywhere if that is negative. The handle
/// goes to `bench_thread_join`. Ends the process when there is no thread to have.
void *bench_thread_start(int processor, bench_thread_body body, void *context);
void bench_thread_join(void *thread);

void bench_sleep(uint64_t nanoseconds);

struct bench_pipe {
  int reader, writer;
};
struct bench_pipe bench_pipe(void);
void bench_read_byte(int reader);
void bench_write_bytes(int writer, size_t count);

// MARK: - Waiting

/// Sleeps while `*word` is `expected`; may return early.
void bench_futex_wait(const void *word, uint32_t expected);
void bench_futex_wake_all(const void *word);

static inline __attribute__((always_inline)) void bench_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

// MARK: - Work

/// Makes the compiler believe that `value` is used.
static inline __attribute__((always_inline)) void bench_consume(uint64_t value) {
  __asm__ volatile("" : : "r"(value));
}

/// A dependent chain of `steps` multiplications.
static inline __attribute__((always_inline)) void bench_spin(uint64_t steps) {
  uint64_t value = steps | 1;
  for (uint64_t i = 0; i < steps; i++) {
    value *= 0x9E3779B97F4A7C15u;
    __asm__ volatile("" : "+r"(value));
  }
}

/// Starts `count` processes that do nothing but use a processor each. They end with this one. 0 or -errno.
int bench_start_neighbours(int count);

/// malloc and free in a form that no optimiser removes, for the self test.
void bench_allocate_and_free(size_t size);
/// For the self test of the costs.
void bench_make_one_system_call(void);
static inline __attribute__((always_inline)) void bench_hundred_instructions(void) {
  __asm__ volatile(".rept 100\n\tnop\n\t.endr");
}

#endif
