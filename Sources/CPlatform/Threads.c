//===- Threads.c - threads, and where they may run --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatform.h"
#include "CPlatformSignals.h"
#include "Uncancelled.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline long result(long value) { return value < 0 ? -errno : value; }

// The processors that the process may use: those of its first thread and those of the calling one. A pinned thread, be it the
// first or the calling one, does not speak for the process.
typedef struct {
  cpu_set_t *set;
  size_t size;
  bool caller_is_restricted;
} allowed_processors;

static int get_allowed(allowed_processors *allowed) {
  // Machines beyond 1024 processors need a larger mask: grow until it fits.
  for (int processors = 1024; processors <= 1 << 16; processors *= 2) {
    cpu_set_t *sets[2] = {CPU_ALLOC(processors), CPU_ALLOC(processors)};
    size_t size = CPU_ALLOC_SIZE(processors);
    int error = sets[0] == NULL || sets[1] == NULL ? ENOMEM : 0;
    if (error == 0 && sched_getaffinity(0, size, sets[0]) != 0) error = errno;
    if (error == 0) {
      if (sched_getaffinity(getpid(), size, sets[1]) == 0) {
        CPU_OR_S(size, sets[1], sets[1], sets[0]);
      } else {
        memcpy(sets[1], sets[0], size);  // The first thread has ended.
      }
      *allowed = (allowed_processors){sets[1], size, !CPU_EQUAL_S(size, sets[0], sets[1])};
      CPU_FREE(sets[0]);
      return 0;
    }
    if (sets[0] != NULL) CPU_FREE(sets[0]);
    if (sets[1] != NULL) CPU_FREE(sets[1]);
    if (error != EINVAL) return -error;
  }
  return -EINVAL;
}

typedef struct {
  gc_thread_body body;
  void *argument;
  allowed_processors allowed;  ///< What the thread gives itself first; no set: what it has inherited.
} start_record;

static void forget(start_record *record) {
  if (record->allowed.set != NULL) CPU_FREE(record->allowed.set);
  free(record);
}

// The record lives as long as the thread: with its first `free` a thread gets an arena of the allocator, which takes longer than all else
// that it does before its first item.

static void *thread_entry(void *raw) {
  start_record *record = raw;
  if (record->allowed.set != NULL) sched_setaffinity(0, record->allowed.size, record->allowed.set);
  record->body(record->argument);
  forget(record);
  return NULL;
}

/// What a thread of the program's own has on glibc. Another C library's default may be too small for a program's items: musl's is
/// 128 KiB.
static size_t usual_stack_size(void) {
#if defined(__GLIBC__)
  return 0;
#else
  enum { usual = 8 << 20, least = 256 << 10 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return limit.rlim_cur < least ? least : (size_t)limit.rlim_cur;
#endif
}

int gc_thread_start(gc_thread_body body, void *argument, size_t stack_size) {
  start_record *record = malloc(sizeof(*record));
  if (record == NULL) return -ENOMEM;
  *record = (start_record){.body = body, .argument = argument};
  // A pool thread that a pinned thread starts is not pinned.
  allowed_processors allowed;
  if (get_allowed(&allowed) == 0) {
    if (allowed.caller_is_restricted) record->allowed = allowed;
    else CPU_FREE(allowed.set);
  }

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_size == 0) stack_size = usual_stack_size();
  if (stack_size != 0) pthread_attr_setstacksize(&attributes, stack_size);

  // The new thread inherits it, so that it takes no signal of the program before it gets going.
  uint64_t mask = gc_signals_set_mask(gc_signals_pool_mask());
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, thread_entry, record);
  gc_signals_set_mask(mask);
  pthread_attr_destroy(&attributes);
  if (error != 0) forget(record);
  return -error;
}

void gc_thread_set_name(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static int exit_key_error;
static void run_exit_hook(void *hook) { ((void (*)(void))hook)(); }
static void make_exit_key(void) { exit_key_error = pthread_key_create(&exit_key, run_exit_hook); }

int gc_thread_at_exit(void (*hook)(void)) {
  pthread_once(&exit_once, make_exit_key);
  if (exit_key_error != 0) return -exit_key_error;
  return -pthread_setspecific(exit_key, (void *)hook);
}

uint32_t gc_process_id(void) { return (uint32_t)getpid(); }

void gc_thread_set_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

void gc_nanosleep(uint64_t nanoseconds) {
  struct timespec t = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
  raw_nanosleep(&t, NULL);
}

void gc_nanosleep_whole(uint64_t nanoseconds) {
  struct timespec rest = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
  while (raw_nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
}

int gc_fork(void) { return (int)result(fork()); }

int gc_affinity_count(void) {
  allowed_processors allowed;
  int error = get_allowed(&allowed);
  if (error != 0) return error;
  int count = CPU_COUNT_S(allowed.size, allowed.set);
  CPU_FREE(allowed.set);
  return count;
}

int gc_online_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

// glibc has had it since 2.32.
extern char __libc_single_threaded __attribute__((weak));
bool gc_is_only_thread(void) { return &__libc_single_threaded != NULL && __libc_single_threaded != 0; }

int gc_membarrier_register(void) {
  return (int)result(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

bool gc_membarrier_is_offered(void) {
  long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

int gc_membarrier(void) {
  return (int)result(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}
