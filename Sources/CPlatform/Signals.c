//===- Signals.c - signals that are watched ---------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A watched signal has `deliver` as its handler. The disposition that the
// program has, or believes it has, is kept beside it: `deliver` calls it, and
// the installed action takes its mask and flags from it, so that the kernel
// does for it what it would do without us.
//
// The functions at the end are the C library's, defined here: a program that
// ignores or handles a watched signal changes the record, not the kernel's
// table. Sanitizers have their own, and go without ours.
//
// Everything but the handler runs under one lock, with all signals blocked:
// handlers may call `sigaction`, and would wait for their own thread.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatform.h"
#include "CPlatformSignals.h"
#include "Uncancelled.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef GC_INTERPOSES
extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);
#define system_sigaction __sigaction
#else
#define system_sigaction sigaction
#endif

enum { last = 64 };

typedef struct {
  /// What `deliver` calls: the action's handler, or SIG_DFL once a one-shot handler has been called.
  _Atomic(uintptr_t) function;
  _Atomic(bool) once;
  /// The program's disposition, under the lock.
  struct sigaction action;
} disposition;

static disposition program[last + 1];
static _Atomic(uint32_t) counts[last + 1];
static _Atomic(uint64_t) watched;
static _Atomic(bool) notified;
static _Atomic(int) descriptor = -1;
/// Handlers that have read `descriptor`, or are about to, and may write to it.
static _Atomic(int) writers;
static _Atomic(pid_t) owner;

static uint64_t bit(int number) { return (uint64_t)1 << (number - 1); }
static bool is_number(int number) { return number >= 1 && number <= last; }
static bool is_watched(int number) { return is_number(number) && (atomic_load(&watched) & bit(number)) != 0; }
static uintptr_t word(sighandler_t function) { return (uintptr_t)function; }
static bool is_function(uintptr_t function) { return function != word(SIG_DFL) && function != word(SIG_IGN); }

bool gc_signals_wait_mask(uint64_t *mask) {
  uint64_t open = atomic_load_explicit(&watched, memory_order_relaxed);
  if (__builtin_expect(open == 0, 1)) return false;
  *mask = gc_signals_pool_mask() & ~open;
  return true;
}

// MARK: The lock

static atomic_flag held = ATOMIC_FLAG_INIT;

static uint64_t lock(void) {
  uint64_t mask = gc_signals_set_mask(~gc_signals_reserved());
  // The holder makes a system call or two. A yield would give the processor to another program.
  while (atomic_flag_test_and_set(&held)) gc_nanosleep(20000);
  return mask;
}

static void unlock(uint64_t mask) {
  atomic_flag_clear(&held);
  gc_signals_set_mask(mask);
}

// MARK: The handler

/// Does what the system does with a signal that has no handler: this handler should not have been called.
static void act_by_default(int number) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  system_sigaction(number, &action, NULL);
  syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

/// Whether the calling process watches the signal. A child that shares our memory, or has a copy of it without a `fork`, has dispositions of its
/// own, and is not watched.
static bool watches_here(int number) { return is_watched(number) && atomic_load(&owner) == getpid(); }

static void deliver(int number, siginfo_t *info, void *context) {
  int error = errno;
  bool counts_here = watches_here(number);
  if (counts_here) {
    atomic_fetch_add(&counts[number], 1);
    if (!atomic_exchange(&notified, true)) {
      uint64_t one = 1;
      atomic_fetch_add(&writers, 1);
      ssize_t written = raw_write(atomic_load(&descriptor), &one, sizeof one);
      atomic_fetch_sub(&writers, 1);
      (void)written;
    }
  }
  disposition *record = &program[number];
  uintptr_t function = atomic_load(&record->function);
  if (is_function(function)) {
    uintptr_t expected = function;
    bool is_ours = !atomic_load(&record->once) ||
                   atomic_compare_exchange_strong(&record->function, &expected, word(SIG_DFL));
    errno = error;
    // The kernel passes all three arguments to every handler.
    if (is_ours) ((void (*)(int, siginfo_t *, void *))function)(number, info, context);
  } else if (function == word(SIG_DFL) && !counts_here) {
    act_by_default(number);
  }
  errno = error;
}

// MARK: Under the lock

static bool is_deliver(const struct sigaction *action) { return word(action->sa_handler) == (uintptr_t)deliver; }

static void record(int number, const struct sigaction *action) {
  disposition *record = &program[number];
  record->action = *action;
  atomic_store(&record->once, (action->sa_flags & SA_RESETHAND) != 0);
  atomic_store(&record->function, word(action->sa_handler));
}

static struct sigaction recorded(int number) {
  struct sigaction action = program[number].action;
  if (atomic_load(&program[number].function) == word(SIG_DFL)) action.sa_handler = SIG_DFL;
  return action;
}

/// Installs `deliver`, with what the program asks of its handler.
static int install(int number) {
  struct sigaction theirs = recorded(number), action = {.sa_sigaction = deliver};
  bool handles = is_function(word(theirs.sa_handler));
  int kept = SA_NOCLDSTOP | SA_NOCLDWAIT;
  if (handles) {
    kept |= SA_RESTART | SA_NODEFER;
    action.sa_mask = theirs.sa_mask;
  }
  action.sa_flags = (theirs.sa_flags & kept) | SA_SIGINFO | SA_ONSTACK | (handles ? 0 : SA_RESTART);
  // A program that ignores SIGCHLD wants no zombies.
  if (number == SIGCHLD && theirs.sa_handler == SIG_IGN) action.sa_flags |= SA_NOCLDWAIT;
  return system_sigaction(number, &action, NULL) == 0 ? 0 : -errno;
}

static void restore(int number) {
  struct sigaction installed, theirs = recorded(number);
  if (system_sigaction(number, NULL, &installed) == 0 && is_deliver(&installed)) {
    system_sigaction(number, &theirs, NULL);
  }
}

/// Puts `deliver` back if the program has replaced it.
static void reassert(int number) {
  struct sigaction installed;
  if (system_sigaction(number, NULL, &installed) != 0 || is_deliver(&installed)) return;
  record(number, &installed);
  install(number);
}

// MARK: Watching

/// Tables that watch: the process's, and that of a simulation's run. Under the lock.
static unsigned char watchers[last + 1];

bool gc_signal_can_be_watched(int number) {
  switch (number) {
    case SIGKILL: case SIGSTOP: case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGTRAP: case SIGSYS:
      return false;
    default:
      return is_number(number) && (gc_signals_reserved() & bit(number)) == 0;
  }
}

int gc_signal_watch(int number) {
  uint64_t mask = lock();
  struct sigaction installed;
  int error = system_sigaction(number, NULL, &installed) == 0 ? 0 : -errno;
  if (error == 0) {
    if (!is_deliver(&installed)) record(number, &installed);
    if (watchers[number] == 0) atomic_store(&counts[number], 0);
    atomic_store(&owner, getpid());
    atomic_fetch_or(&watched, bit(number));
    error = install(number);
    if (error == 0) watchers[number]++;
    if (watchers[number] == 0) atomic_fetch_and(&watched, ~bit(number));
  }
  unlock(mask);
  return error;
}

void gc_signal_unwatch(int number) {
  uint64_t mask = lock();
  // A table that was made before a fork knows of watches that the child has not.
  if (watchers[number] > 0 && --watchers[number] == 0) {
    restore(number);
    atomic_fetch_and(&watched, ~bit(number));
  }
  unlock(mask);
}

uint32_t gc_signal_take(int number) { return atomic_exchange(&counts[number], 0); }

void gc_signals_set_descriptor(int fd) {
  atomic_store(&descriptor, fd);
  atomic_store(&notified, false);
}

void gc_signals_give_up_descriptor(int fd) {
  // Signals are blocked: this thread is not the one that is waited for.
  uint64_t mask = lock();
  int expected = fd;
  atomic_compare_exchange_strong(&descriptor, &expected, -1);
  while (atomic_load(&writers) > 0) gc_nanosleep(20000);
  unlock(mask);
}

void gc_signals_acknowledge(void) { atomic_exchange(&notified, false); }

void gc_signals_reassert(void) {
  if (atomic_load_explicit(&watched, memory_order_relaxed) == 0 || gc_signals_are_interposed()) return;
  uint64_t mask = lock();
  for (int number = 1; number <= last; number++) {
    if (is_watched(number)) reassert(number);
  }
  unlock(mask);
}

// MARK: Fork. The lock's holder is the forking thread, which gets no signal meanwhile.

static uint64_t mask_before_fork;

void gc_signals_lock_for_fork(void) {
  uint64_t mask = lock();
  mask_before_fork = mask;
}

void gc_signals_unlock_after_fork(bool in_child) {
  if (in_child) {
    for (int number = 1; number <= last; number++) {
      if (is_watched(number)) restore(number);
      watchers[number] = 0;
    }
    atomic_store(&watched, 0);
    // Those of other threads, which are the parent's.
    atomic_store(&writers, 0);
    gc_signals_set_descriptor(-1);
  }
  unlock(in_child ? gc_signals_mask_after_fork(mask_before_fork) : mask_before_fork);
}

// MARK: The C library's functions

#ifndef GC_INTERPOSES

bool gc_signals_are_interposed(void) { return false; }

#else

#define EXPORTED __attribute__((visibility("default"), noinline))

static int change(int number, const struct sigaction *new, struct sigaction *old) {
  if (!watches_here(number)) {
    int result = system_sigaction(number, new, old);
    if (result == 0 && old != NULL && is_watched(number) && is_deliver(old)) *old = recorded(number);
    // Another thread may have begun to watch it just now.
    if (new == NULL || !watches_here(number)) return result;
    uint64_t mask = lock();
    if (is_watched(number)) reassert(number);
    unlock(mask);
    return result;
  }
  int error = 0;
  uint64_t mask = lock();
  if (!is_watched(number)) {
    error = system_sigaction(number, new, old) == 0 ? 0 : errno;
  } else {
    struct sigaction former = recorded(number);
    // The program may have read our action and put it back: that changes nothing.
    if (new != NULL && !is_deliver(new)) {
      record(number, new);
      error = -install(number);
    }
    if (old != NULL) *old = former;
  }
  unlock(mask);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

EXPORTED int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
  return change(number, new, old);
}

bool gc_signals_are_interposed(void) {
  static _Atomic(int) answer;  // 0 not asked yet, 1 yes, 2 no
  int known = atomic_load_explicit(&answer, memory_order_relaxed);
  if (known == 0) {
    // All calls reach the first definition in the process.
    known = dlsym(RTLD_DEFAULT, "sigaction") == (void *)sigaction ? 1 : 2;
    atomic_store_explicit(&answer, known, memory_order_relaxed);
  }
  return known == 1;
}

/// Signals that interrupt system calls, by `siginterrupt`.
static _Atomic(uint64_t) interrupting;

static sighandler_t set_handler(int number, sighandler_t handler, int flags, bool blocks_itself) {
  struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;
  if (handler == SIG_ERR || !is_number(number)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  if (blocks_itself) sigaddset(&new.sa_mask, number);
  return change(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

EXPORTED sighandler_t signal(int number, sighandler_t handler) {
  bool interrupts = is_number(number) && (atomic_load(&interrupting) & bit(number)) != 0;
  return set_handler(number, handler, interrupts ? 0 : SA_RESTART, true);
}

EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler) { return signal(number, handler); }

EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) {
  return set_handler(number, handler, SA_RESETHAND | SA_NODEFER, false);
}

EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler) { return __sysv_signal(number, handler); }

EXPORTED int siginterrupt(int number, int interrupts) {
  struct sigaction action;
  if (change(number, NULL, &action) != 0) return -1;
  if (interrupts) {
    atomic_fetch_or(&interrupting, bit(number));
    action.sa_flags &= ~SA_RESTART;
  } else {
    atomic_fetch_and(&interrupting, ~bit(number));
    action.sa_flags |= SA_RESTART;
  }
  return change(number, &action, NULL);
}

EXPORTED int sigignore(int number) { return set_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0; }

EXPORTED sighandler_t sigset(int number, sighandler_t handler) {
  if (!is_number(number)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  bool holds = handler == SIG_HOLD;
  struct sigaction former;
  if (holds && change(number, NULL, &former) != 0) return SIG_ERR;
  sighandler_t old = holds ? former.sa_handler : set_handler(number, handler, 0, false);
  if (old == SIG_ERR) return SIG_ERR;
  sigset_t changed, mask;
  sigemptyset(&changed);
  sigaddset(&changed, number);
  pthread_sigmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &changed, &mask);
  return sigismember(&mask, number) == 1 ? SIG_HOLD : old;
}

#endif
