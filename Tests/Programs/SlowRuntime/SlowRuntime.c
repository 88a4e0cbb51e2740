// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "SlowRuntime.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned count;

unsigned gc_test_slow_runtime_count(void) { return count; }

static _Thread_local bool shall_keep;
static _Atomic bool is_kept;

void gc_test_keep_runtime_lock(void) { shall_keep = true; }
bool gc_test_runtime_lock_is_kept(void) { return is_kept; }
void gc_test_let_runtime_lock_go(void) { is_kept = false; }

// A sanitizer has a function of this name itself.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

enum { nanoseconds_held = 1000000, one_in = 4 };

typedef int lock_function(pthread_mutex_t *);

static bool is_slow;

// The runtime's code.
static uintptr_t first, end;

static int find_runtime(struct dl_phdr_info *library, size_t size, void *unused) {
  (void)size, (void)unused;
  if (!strstr(library->dlpi_name, "libswiftCore.so")) return 0;
  for (int index = 0; index < library->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[index];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    first = library->dlpi_addr + part->p_vaddr;
    end = first + part->p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(find_runtime, NULL);
  is_slow = getenv("GC_SLOW_RUNTIME");
}

static uint64_t processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// SplitMix64's step, for each thread by itself.
static unsigned draw(void) {
  static _Thread_local uint64_t state;
  if (state == 0) state = (uintptr_t)&state ^ processor_time();
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  return (unsigned)(z >> 33);
}

// It computes: the runtime does not wait either while it holds a lock.
static void hold(void) {
  count++;
  for (uint64_t start = processor_time(); processor_time() - start < nanoseconds_held;) {}
}

static void keep(void) {
  shall_keep = false;
  is_kept = true;
  while (is_kept) usleep(1000);
}

// The program's function goes before the C library's, for the runtime as well.
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static lock_function *_Atomic next;
  lock_function *lock = next;
  if (!lock) next = lock = (lock_function *)dlsym(RTLD_NEXT, "pthread_mutex_lock");
  int result = lock(mutex);
  uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (caller < first || caller >= end) return result;
  if (shall_keep) keep();
  // The first one, so that one is held in every process.
  if (is_slow && (count == 0 || draw() % one_in == 0)) hold();
  return result;
}

#endif
