//===- SystemCallCounter.c - the system calls of all threads --------------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The kernel counts them at its tracepoint raw_syscalls/sys_enter. A thread is
// counted if the one that started it is, so the counter is opened before
// there is a second thread: before main. It makes each call and each switch of
// threads dearer, so it is open only in processes that are not timed.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "BenchSupport.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter = -1;

/// The tracepoint's number; zero if the kernel does not show it.
static unsigned long long tracepoint(void) {
  static const char *const files[] = {
      "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
      "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id",
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    FILE *file = fopen(files[i], "re");
    if (file == NULL) continue;
    unsigned long long id = 0;
    if (fscanf(file, "%llu", &id) != 1) id = 0;
    fclose(file);
    if (id != 0) return id;
  }
  return 0;
}

static int opened_counter(void) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_TRACEPOINT, .size = sizeof attributes, .config = tracepoint(), .inherit = 1};
  if (attributes.config == 0) return -1;
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static __attribute__((constructor)) void count_from_the_start(void) {
  if (getenv(BENCH_COUNT_SYSTEM_CALLS) != NULL) counter = opened_counter();
}

int bench_can_count_system_calls(void) {
  int descriptor = opened_counter();
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

int64_t bench_system_calls(void) {
  uint64_t count = 0;
  if (counter < 0 || read(counter, &count, sizeof count) != sizeof count) return -1;
  return (int64_t)count;
}

void bench_make_one_system_call(void) { syscall(SYS_getppid); }
