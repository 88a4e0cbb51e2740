//===- BenchSupport.c - meters and pinned threads -------------------------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "BenchSupport.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t bench_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t bench_process_cpu(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t bench_context_switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

/// The number at `field` of a file of numbers, the first is 0.
static int64_t number_of(const char *path, int field) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  long long value = 0;
  for (int i = 0; i <= field; i++) {
    if (fscanf(file, "%lld", &value) != 1) value = 0;
  }
  fclose(file);
  return value;
}

int64_t bench_resident_bytes(void) { return number_of("/proc/self/statm", 1) * sysconf(_SC_PAGESIZE); }

int64_t bench_threads(void) {
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  char line[256];
  long long count = 0;
  while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Threads: %lld", &count) != 1) {}
  fclose(file);
  return count;
}

int bench_usable_processors(int *processors, int capacity) {
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) return 0;
  int count = 0;
  for (int i = 0; i < CPU_SETSIZE && count < capacity; i++) {
    if (CPU_ISSET(i, &set)) processors[count++] = i;
  }
  return count;
}

struct thread {
  pthread_t handle;
  int processor;
  bench_thread_body body;
  void *context;
};

static void *thread_main(void *argument) {
  struct thread *thread = argument;
  if (thread->processor >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(thread->processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  thread->body(thread->context);
  return NULL;
}

void *bench_thread_start(int processor, bench_thread_body body, void *context) {
  struct thread *thread = malloc(sizeof *thread);
  *thread = (struct thread){.processor = processor, .body = body, .context = context};
  if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0) {
    perror("bench: pthread_create");
    exit(2);
  }
  return thread;
}

void bench_thread_join(void *argument) {
  struct thread *thread = argument;
  pthread_join(thread->handle, NULL);
  free(thread);
}

struct bench_pipe bench_pipe(void) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  return (struct bench_pipe){ends[0], ends[1]};
}

void bench_read_byte(int reader) {
  char byte;
  while (read(reader, &byte, 1) < 0 && errno == EINTR) {}
}

void bench_write_bytes(int writer, size_t count) {
  for (char byte = 0; count > 0; count--) {
    while (write(writer, &byte, 1) < 0 && errno == EINTR) {}
  }
}

void bench_sleep(uint64_t nanoseconds) {
  struct timespec time = {
      .tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

void bench_futex_wait(const void *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void bench_futex_wake_all(const void *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int bench_start_neighbours(int count) {
  pid_t parent = getpid();
  for (int i = 0; i < count; i++) {
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    for (volatile unsigned long i = 0;; i++) {
    }
  }
  return 0;
}

void bench_allocate_and_free(size_t size) {
  void *volatile memory = malloc(size);
  free(memory);
}
