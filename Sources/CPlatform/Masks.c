//===- Masks.c - the signals that pool threads block ------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A signal that is sent to the process goes to a thread that does not block it.
// A program that blocks one in its own threads, to read it from a descriptor or
// to keep it out of a critical section, does not count on ours: pool threads
// block every signal, except those that a thread causes itself by anything but
// the size of a file, and let in those that are watched where they wait.
//
// A child inherits the mask of the thread that starts it. What we have added
// is taken away again: after a fork in the child, for `posix_spawn` by an
// attribute. (`system` and `popen` of the C library start a shell with the
// thread's mask; dash takes it away by itself.) A thread that a job makes
// inherits the mask as well, and its children are treated alike.
//
// A job may block a signal that its thread blocks already. From then on the job
// blocks it, not we: children inherit that, and `raise` leaves it pending. The
// kernel's mask does not show the difference, so calls that change it are noted.
//
// The program's mask is what its threads blocked when the first pool thread
// was started.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatform.h"
#include "CPlatformSignals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(number) ((uint64_t)1 << ((number) - 1))

// Whether functions of the C library are defined here. The library that simulates programs has its own ones. A static program on musl would
// have no others to call, so there only the shared library does.
#if !defined(GRANDCENTRAL_SIMULATION) && (defined(GC_INTERPOSES) || (!defined(__GLIBC__) && defined(GRANDCENTRAL_BUILDING)))
#define STANDS_BEFORE 1
#endif

// The C library's own: 32 and 33 of glibc, and 34 as well of musl.
#if defined(__GLIBC__)
static const uint64_t reserved = (uint64_t)3 << 31;
#else
static const uint64_t reserved = (uint64_t)7 << 31;
#endif

/// What the kernel sends to a thread for something that the thread does, and what profilers count a thread's time by. SIGXFSZ is not among
/// them: a channel's write beyond the limit of a file's size ends with EFBIG.
static const uint64_t caused = BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) |
                               BIT(SIGSYS) | BIT(SIGPIPE) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGPROF);

static uint64_t change_mask(int how, uint64_t mask) {
  uint64_t former = 0;
  syscall(SYS_rt_sigprocmask, how, &mask, &former, sizeof mask);
  return former;
}

uint64_t gc_signals_set_mask(uint64_t mask) { return change_mask(SIG_SETMASK, mask); }

uint64_t gc_signals_reserved(void) { return reserved; }

static uint64_t own_mask(void) { return change_mask(SIG_BLOCK, 0); }

/// What the process's first thread blocks; all signals if the kernel does not say.
static uint64_t mask_of_first_thread(void) {
  enum { longest = 64 };  // The line's length and more.
  char text[1024];
  size_t length = 0;
  uint64_t mask = UINT64_MAX;
  int fd = gc_open_read("/proc/self/status");
  if (fd < 0) return mask;
  // A user of many groups has a line of any length before it.
  for (;;) {
    ssize_t count = gc_read(fd, text + length, sizeof text - 1 - length);
    if (count <= 0) break;
    length += (size_t)count;
    text[length] = 0;
    const char *line = strstr(text, "\nSigBlk:");
    if (line != NULL && strchr(line + 1, '\n') != NULL) {
      mask = strtoull(line + 8, NULL, 16);
      break;
    }
    size_t kept = length < longest ? length : longest;
    memmove(text, text + length - kept, kept);
    length = kept;
  }
  gc_close(fd);
  return mask;
}

/// The program's mask; the C library's own signals' bits tell that it is known.
static _Atomic(uint64_t) known;

static uint64_t program_mask(void) {
  uint64_t mask = atomic_load(&known);
  if (mask == 0) {
    // A signal that a single thread blocks for itself, such as one of another library's pool, is not blocked by the program.
    uint64_t own = own_mask();
    if ((pid_t)syscall(SYS_gettid) != getpid()) own &= mask_of_first_thread();
    own |= reserved;
    mask = atomic_compare_exchange_strong(&known, &mask, own) ? own : mask;
  }
  return mask & ~reserved;
}

/// Nobody can block these: the kernel takes them out of a mask.
static const uint64_t unblockable = BIT(SIGKILL) | BIT(SIGSTOP);

uint64_t gc_signals_pool_mask(void) {
#if defined(STANDS_BEFORE) || (defined(__GLIBC__) && !defined(GRANDCENTRAL_SIMULATION))
  return (program_mask() | ~(caused | reserved)) & ~unblockable;
#else
  // More than that would be blocked in children, too.
  return program_mask() & ~unblockable;
#endif
}

/// What threads with this mask block because pool threads do. A thread that has changed its mask knows more.
static uint64_t added_in(uint64_t mask) {
  return atomic_load(&known) != 0 && mask == gc_signals_pool_mask() ? mask & ~program_mask() : 0;
}

enum { changed = 1, forked = 2 };

/// What the calling thread blocks because pool threads do.
static uint64_t pool_blocks(uint64_t mask) {
  const gc_thread *self = gc_thread_self();
  return self->mask_use != 0 ? self->pool_blocks & mask : added_in(mask);
}

uint64_t gc_signals_child_mask(uint64_t mask) { return mask & ~pool_blocks(mask); }

uint64_t gc_signals_mask_after_fork(uint64_t mask) {
  gc_thread *self = gc_thread_self();
  uint64_t inherited = gc_signals_child_mask(mask);
  if (inherited != mask || self->mask_use != 0) {
    self->pool_blocks = 0;
    self->mask_use = changed | forked;
  }
  return inherited;
}

// MARK: The C library's functions

#ifdef STANDS_BEFORE

#define EXPORTED __attribute__((visibility("default"), noinline))

/// What was blocked because pool threads do when the thread had this mask.
static uint64_t former_blocks(uint64_t mask) {
  const gc_thread *self = gc_thread_self();
  return self->mask_use != 0 && mask == self->told_mask ? self->told_blocks : added_in(mask);
}

/// Changes the calling thread's mask, and notes what of it is the thread's own wish. 0 or the error's number.
static int change_own_mask(int how, const sigset_t *set, sigset_t *old) {
  gc_thread *self = gc_thread_self();
  uint64_t wanted = 0, former = 0, blocks = 0;
  if (set != NULL) {
    memcpy(&wanted, set, sizeof wanted);
    wanted &= ~reserved;
    if (how == SIG_SETMASK) blocks = former_blocks(wanted);
    // In the child of a fork nothing is blocked because of a pool that it does not have.
    if ((self->mask_use & forked) != 0) wanted &= ~blocks;
  }
  if (syscall(SYS_rt_sigprocmask, how, set != NULL ? &wanted : NULL, &former, sizeof former) != 0) return errno;
  uint64_t before = pool_blocks(former);
  // Others are threads of the program's own, and copies of threads in children.
  if ((before != 0 || self->mask_use != 0) && (self->mask_use & forked) == 0) {
    bool puts_back = set != NULL && how == SIG_SETMASK && wanted == self->told_mask;
    // What was told once is put back once: the next such mask is that of a section around this one.
    if (puts_back || old != NULL) {
      self->told_mask = puts_back ? 0 : former;
      self->told_blocks = puts_back ? 0 : before;
    }
    self->pool_blocks = set == NULL ? before : how == SIG_SETMASK ? blocks : before & ~wanted;
    self->mask_use = changed;
  }
  if (old != NULL) memcpy(old, &former, sizeof former);
  return 0;
}

EXPORTED int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
  int before = errno, error = change_own_mask(how, set, old);
  errno = before;
  return error;
}

EXPORTED int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
  int error = change_own_mask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/// Lets in the signal that the calling thread sends to itself, unless the thread blocks it by its own wish.
EXPORTED int raise(int number) {
  uint64_t mask = own_mask();
  bool is_number = number >= 1 && number <= 64, opens = is_number && (pool_blocks(mask) & BIT(number)) != 0;
  if (is_number && (reserved & BIT(number)) != 0) {
    errno = EINVAL;
    return -1;
  }
  if (opens) change_mask(SIG_UNBLOCK, BIT(number));
  int result = (int)syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
  if (opens) gc_signals_set_mask(mask);
  return result;
}

typedef int (*spawn)(
    pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *);

/// A static program has the function by this name, as `system` needs it.
extern __typeof__(posix_spawn) __posix_spawn __attribute__((weak));
static void *const needs_spawn __attribute__((used)) = (void *)system;

/// Calls `function` so that the child has the mask that it would have from a thread of the program's own.
static int start(
    spawn function, pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) {
  short flags = 0;
  if (attributes != NULL) posix_spawnattr_getflags(attributes, &flags);
  uint64_t mask = own_mask(), wanted = gc_signals_child_mask(mask);
  sigset_t set;
  if ((flags & POSIX_SPAWN_SETSIGMASK) != 0) {
    // The caller may choose what the thread was told of its mask.
    posix_spawnattr_getsigmask(attributes, &set);
    memcpy(&mask, &set, sizeof mask);
    wanted = mask & ~former_blocks(mask);
  }
  if (wanted == mask) return function(child, file, actions, attributes, arguments, environment);
  posix_spawnattr_t own;  // A copy of the caller's, which stays as it is. Neither owns memory.
  if (attributes != NULL) own = *attributes;
  else posix_spawnattr_init(&own);
  sigemptyset(&set);
  memcpy(&set, &wanted, sizeof wanted);
  posix_spawnattr_setsigmask(&own, &set);
  posix_spawnattr_setflags(&own, (short)(flags | POSIX_SPAWN_SETSIGMASK));
  return function(child, file, actions, &own, arguments, environment);
}

EXPORTED int posix_spawn(
    pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
  static _Atomic(uintptr_t) found;
  if (atomic_load(&found) == 0) {
    void *next = dlsym(RTLD_NEXT, "posix_spawn");
    atomic_store(&found, next != NULL ? (uintptr_t)next : (uintptr_t)__posix_spawn);
  }
  return start((spawn)atomic_load(&found), child, path, actions, attributes, arguments, environment);
}

/// What `posix_spawnp` does, in a static program, which has no other one.
static int search(
    pid_t *child, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
    char *const *arguments, char *const *environment) {
  const char *folders = strchr(file, '/') != NULL ? "" : getenv("PATH");
  if (folders == NULL) folders = "/bin:/usr/bin";
  for (int error = ENOENT;; folders += 1) {
    size_t length = strcspn(folders, ":");
    char *path = NULL;
    if (asprintf(&path, "%.*s%s%s", (int)length, folders, length != 0 ? "/" : "", file) < 0) return ENOMEM;
    int result = posix_spawn(child, path, actions, attributes, arguments, environment);
    free(path);
    if (result != ENOENT && result != ENOTDIR && result != EACCES) return result;
    if (result == EACCES) error = EACCES;
    folders += length;
    if (*folders == 0) return error;
  }
}

EXPORTED int posix_spawnp(
    pid_t *restrict child, const char *restrict file, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
  static _Atomic(uintptr_t) found;
  if (atomic_load(&found) == 0) {
    void *next = dlsym(RTLD_NEXT, "posix_spawnp");
    atomic_store(&found, next != NULL ? (uintptr_t)next : (uintptr_t)search);
  }
  return start((spawn)atomic_load(&found), child, file, actions, attributes, arguments, environment);
}

#endif
