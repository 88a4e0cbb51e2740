//===- Signals.c - signals that the program sends itself ----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The handler of a signal may run on a thread that has no turn. The sender
// waits until it is back, so that what it does is the same in each run: it may
// write to a pipe. A wait of the simulation is not ended by it.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static GCS_REAL(int, kill, (pid_t process, int number), (process, number))
static GCS_REAL(int, killpg, (pid_t group, int number), (group, number))
static GCS_REAL(int, tgkill, (pid_t process, pid_t thread, int number), (process, thread, number))
static GCS_REAL(int, pthread_kill, (pthread_t thread, int number), (thread, number))
static GCS_REAL(int, sigqueue, (pid_t process, int number, const union sigval value), (process, number, value))
static GCS_REAL(int, pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value))

int __wrap_sched_yield(void);

/// Also read by the thread that reports.
static bool has_signalled;

bool gcs_has_signalled(void) { return __atomic_load_n(&has_signalled, __ATOMIC_RELAXED); }

static bool is_empty(const char *path) {
  FILE *file = fopen(path, "re");
  if (file == NULL) return true;
  bool has_none = fgetc(file) == EOF;
  fclose(file);
  return has_none;
}

bool gcs_may_be_signalled(void) {
  siginfo_t child;
  return waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 || !is_empty("/proc/self/timers");
}

static bool runs(const char *thread) {
  char path[64], state = 'S';
  snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  char line[256];
  // The name is in brackets, and may have some.
  if (fgets(line, sizeof line, file) != NULL) {
    for (const char *rest = line; *rest != 0; rest += 1) {
      if (rest[0] == ')' && rest[1] == ' ') state = rest[2];
    }
  }
  fclose(file);
  return state == 'R';
}

static bool another_runs(void) {
  DIR *folder = opendir("/proc/self/task");
  if (folder == NULL) return false;
  bool found = false;
  for (struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
    int thread = atoi(entry->d_name);
    found = thread > 0 && thread != gettid() && runs(entry->d_name);
  }
  closedir(folder);
  return found;
}

/// Behind a signal: the thread that it wakes can run at once, and sleeps again when its handler is back. On a busy machine it may get a
/// processor late. One that takes no part may run on and on.
static void await_handlers(void) {
  __atomic_store_n(&has_signalled, true, __ATOMIC_RELAXED);
  for (int looks = 0; looks < 1000 && another_runs(); looks += 1) {
    if (looks < 100) __wrap_sched_yield();
    else __wrap_poll(NULL, 0, 1);
  }
}

static int settle(int error, bool is_point) {
  if (error != 0 || !gcs_is_simulated()) return error;
  int kept = errno;
  await_handlers();
  gcs_signal_sent();
  gcs_descriptors_changed(is_point);
  errno = kept;
  return 0;
}

/// To the process, of which the calling thread is one, as by a call with that code. The kernel gives it to the main thread, where that lets it
/// through. Here main blocks it while it waits for a handler, and it is kept for main all the same: another thread would take it.
static int send_own(int number, int code, union sigval value) {
  if (!gcs_main_awaits(number)) {
    return code == SI_QUEUE ? __wrap_sigqueue(getpid(), number, value) : __wrap_kill(getpid(), number);
  }
  // Only the kernel says that a `kill` has sent something.
  if (code != SI_QUEUE) return __wrap_tgkill(getpid(), getpid(), number);
  siginfo_t info = {.si_signo = number, .si_code = code};
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value = value;
  return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), number, &info);
}

void gcs_send_aside(int number) {
  int kept = errno;
  gc_thread *thread = gc_thread_self();
  void *simulated = thread->simulated;
  // The handler may run on this thread, which is in the middle of a wait.
  thread->simulated = NULL;
  send_own(number, SI_USER, (union sigval){0});
  await_handlers();
  thread->simulated = simulated;
  gcs_signal_sent();
  gcs_count_step();
  errno = kept;
}

static bool is_own(pid_t process) { return process == getpid() || process == 0 || process == -getpgrp(); }

int kill(pid_t process, int number) {
  bool is_mine = process == getpid() && gcs_is_simulated();
  int error = is_mine ? send_own(number, SI_USER, (union sigval){0}) : __wrap_kill(process, number);
  return is_own(process) && number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}

int killpg(pid_t group, int number) {
  int error = __wrap_killpg(group, number);
  return is_own(-group) && number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}

int sigqueue(pid_t process, int number, const union sigval value) {
  bool is_mine = process == getpid() && gcs_is_simulated();
  int error = is_mine ? send_own(number, SI_QUEUE, value) : __wrap_sigqueue(process, number, value);
  return process == getpid() && number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}

int tgkill(pid_t process, pid_t thread, int number) {
  int error = __wrap_tgkill(process, thread, number);
  return number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}

int pthread_kill(pthread_t thread, int number) {
  int error = __wrap_pthread_kill(thread, number);
  return number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}

int pthread_sigqueue(pthread_t thread, int number, const union sigval value) {
  int error = __wrap_pthread_sigqueue(thread, number, value);
  return number != 0 ? settle(error, gcs_is_in_program(__builtin_return_address(0))) : error;
}
