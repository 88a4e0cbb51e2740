// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The variants with functions allocate nothing in steady state: rounds after the first ones allocate no memory.
// Without blocks, so that any C compiler will do.

#define _GNU_SOURCE 1
#include <dispatch/dispatch.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// In the place of the C library's, for all libraries of the process.
#if defined(__GLIBC__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
#else
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define __libc_malloc(size) NEXT(malloc)(size)
#define __libc_calloc(count, size) NEXT(calloc)(count, size)
#define __libc_memalign(alignment, size) NEXT(aligned_alloc)(alignment, size)
#endif

static size_t allocations;

static void note(void) { __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  note();
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : 12;
}

static void increment(void *counter) { __atomic_fetch_add((size_t *)counter, 1, __ATOMIC_RELAXED); }

static void increment_index(void *counter, size_t index) {
  (void)index;
  increment(counter);
}

static void release(void *semaphore) { dispatch_semaphore_signal(semaphore); }

int main(void) {
  enum { ROUNDS = 20, WARM = 5, CALLS = 200 };
  dispatch_queue_t serial = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
  dispatch_queue_t concurrent = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
  dispatch_queue_t global = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_group_t group = dispatch_group_create();
  dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
  size_t count = 0, before = 0;
  for (int round = 0; round < ROUNDS; round++) {
    if (round == WARM) before = allocations;
    for (int call = 0; call < CALLS; call++) {
      dispatch_async_f(serial, &count, increment);
      dispatch_barrier_async_f(concurrent, &count, increment);
      dispatch_sync_f(concurrent, &count, increment);
      dispatch_async_and_wait_f(serial, &count, increment);
      dispatch_group_async_f(group, global, &count, increment);
    }
    dispatch_apply_f(CALLS, global, &count, increment_index);
    dispatch_sync_f(serial, &count, increment);
    dispatch_group_notify_f(group, serial, semaphore, release);
    dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
    dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 1000000), serial, semaphore, release);
    dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
  }
  size_t made = allocations - before, calls = (size_t)(ROUNDS - WARM) * CALLS * 5;
  printf("%zu allocations in %zu calls\n", made, calls);
  if (count != (size_t)ROUNDS * (CALLS * 6 + 1)) {
    printf("%zu items ran\n", count);
    return 1;
  }
  // A thread that starts late, or a stock of nodes that grows, allocates now and then, but not once for each call.
  return made > calls / 100;
}
