//===- Begin.c - the first and the last step of the process ------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <CPlatformIdentity.h>

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *gcs_real(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function == NULL) abort();
  return function;
}

// MARK: The program's own code

static uintptr_t program_begin, program_end;

static int look_at_program(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  (void)context;
  for (int index = 0; index < info->dlpi_phnum; index += 1) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    program_begin = info->dlpi_addr + segment->p_vaddr;
    program_end = program_begin + segment->p_memsz;
  }
  return 1;  // the first one is the program
}

bool gcs_is_in_program(const void *address) {
  return (uintptr_t)address >= program_begin && (uintptr_t)address < program_end;
}

// MARK: main, and behind it

static int (*program_main)(int, char **, char **);
static pid_t process;

bool gcs_has_begun(void) { return process != 0; }
bool gcs_is_process(void) { return getpid() == process; }

static void end(int code, void *context) {
  (void)context;
  // A child of fork runs what its parent has registered.
  if (gcs_is_process()) gcs_end(code);
}

static int quick_code;
static void end_quickly(void) { end(quick_code, NULL); }

static const char *const wishes[] = {
  "GRANDCENTRAL_SIMULATE", "GRANDCENTRAL_SIMULATE_REPORT", "GRANDCENTRAL_SIMULATE_STEPS",
  "GRANDCENTRAL_SIMULATE_SECONDS", "GRANDCENTRAL_SIMULATE_BRANCHES", "GRANDCENTRAL_SIMULATE_TRACE",
  "GRANDCENTRAL_SIMULATE_WAITS", "GRANDCENTRAL_SIMULATE_EVENTS",
};

static int simulated_main(int count, char **arguments, char **environment) {
  if (getenv("GRANDCENTRAL_SIMULATE") != NULL) {
    dl_iterate_phdr(look_at_program, NULL);
    process = getpid();
    on_exit(end, NULL);
    at_quick_exit(end_quickly);
    gcs_prepare_threads();
    gcs_prepare_processes();
    gcs_begin();
    // What the program starts is not simulated.
    for (size_t index = 0; index < sizeof wishes / sizeof wishes[0]; index += 1) unsetenv(wishes[index]);
  }
  return program_main(count, arguments, environment);
}

typedef int (*start_function)(
    int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

// All libraries have been initialised by now.
int __libc_start_main(
    int (*main)(int, char **, char **), int count, char **arguments, void (*init)(void), void (*fini)(void),
    void (*rtld_fini)(void), void *stack_end) {
  program_main = main;
  start_function start = (start_function)gcs_real("__libc_start_main");
  return start(simulated_main, count, arguments, init, fini, rtld_fini, stack_end);
}

void gcs_exit_now(int code) {
  void (*exit_now)(int) = (void (*)(int))gcs_real("_exit");
  exit_now(code);
  __builtin_unreachable();
}

void _exit(int code) {
  if (gcs_is_process()) {
    // The handler of a signal may call this on a thread that has no turn, or that takes no part.
    if (gcs_is_simulated()) gcs_end(code);
    else gcs_end_aside(code);
  }
  gcs_exit_now(code);
}

void _Exit(int code) { _exit(code); }

void quick_exit(int code) {
  void (*exit_quickly)(int) = (void (*)(int))gcs_real("quick_exit");
  quick_code = code;
  exit_quickly(code);
  __builtin_unreachable();
}

void gcs_name_main(uint32_t id) { __atomic_store_n(&gc_main_thread, id, __ATOMIC_RELAXED); }

void gcs_flush(void) {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

// MARK: Signals

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction former[SIGNALS];

static void (*speaker)(int);

static void speak(int signal) {
  if (gcs_is_process()) speaker(signal);
  for (int index = 0; index < SIGNALS; index += 1) {
    if (signals[index] == signal) sigaction(signal, &former[index], NULL);
  }
  // It waits until the handler is back.
  raise(signal);
}

void gcs_catch_signals(void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  speaker = handler;
  action.sa_handler = speak;
  // A stack may have overflowed: the runtime's handler has one of its own.
  action.sa_flags = SA_ONSTACK;
  for (int index = 0; index < SIGNALS; index += 1) sigaction(signals[index], &action, &former[index]);
}
