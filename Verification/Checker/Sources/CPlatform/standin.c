// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Until the made-up machine is there: the real one, but for what blocks, which goes to the checker. One processor, so that
/// nobody spins.

#define _GNU_SOURCE 1
#include "CPlatform.h"
#include "CheckerSeam.h"

#define gc_futex_wait real_futex_wait
#define gc_futex_wait_wall real_futex_wait_wall
#define gc_futex_wake real_futex_wake
#define gc_clock_uptime real_clock_uptime
#define gc_thread_start real_thread_start
#define gc_nanosleep real_nanosleep
#define gc_affinity_count real_affinity_count
#define gc_malloc real_malloc
#define gc_aligned_alloc real_aligned_alloc
#define gc_free real_free
#include "../../../../Sources/CPlatform/CPlatform.c"
#undef gc_futex_wait
#undef gc_futex_wait_wall
#undef gc_futex_wake
#undef gc_clock_uptime
#undef gc_thread_start
#undef gc_nanosleep
#undef gc_affinity_count
#undef gc_malloc
#undef gc_aligned_alloc
#undef gc_free


int gc_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline) {
  ck_point("futex wait", word);
  if (ck_newest32(word) != expected) return -EAGAIN;
  uint64_t end = deadline ? (uint64_t)deadline->tv_sec * 1000000000u + (uint64_t)deadline->tv_nsec : UINT64_MAX;
  int how = ck_block((uintptr_t)word, end, true, "futex wait");
  return how == CK_TIMED_OUT ? -ETIMEDOUT : how == CK_SPURIOUS ? -EINTR : 0;
}
int gc_futex_wait_wall(const void *word, uint32_t expected, const struct timespec *deadline) {
  return gc_futex_wait(word, expected, deadline);
}
int gc_futex_wake(const void *word, int count) {
  ck_point("futex wake", word);
  return ck_wake((uintptr_t)word, count);
}
uint64_t gc_clock_uptime(void) { return ck_uptime(); }
int gc_thread_start(gc_thread_body body, void *argument, size_t stack_size) {
  (void)stack_size;
  ck_spawn(body, argument);
  return 0;
}
void gc_nanosleep(uint64_t nanoseconds) { ck_block(0, ck_uptime() + nanoseconds, false, "sleep"); }
int gc_affinity_count(void) { return 1; }
void *gc_malloc(size_t size) {
  void *memory = malloc(size);
  ck_memory_made(memory, size);
  return memory;
}
void *gc_aligned_alloc(size_t alignment, size_t size) {
  void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  ck_memory_made(memory, size);
  return memory;
}
void gc_free(void *memory) {
  ck_memory_gone(memory, 0);
  free(memory);
}
