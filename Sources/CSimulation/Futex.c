//===- Futex.c - system calls that wait ---------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Where C++ and Swift wait without the C library, they call the kernel through
// syscall: for a future, a static value that is being made, a wait for an
// atomic value, a Mutex of Swift's Synchronization.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"
#include "Real.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// All arguments are words, so that it does not matter how many are passed.
GCS_REAL(
    long, syscall, (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f))

// MARK: A word

static uint32_t value(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

static long wait(const uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (value(word) != expected) return -EAGAIN;
  return gcs_wait(word, GCS_FUTEX, 0, deadline) ? 0 : -ETIMEDOUT;
}

static uint64_t from_now(const struct timespec *time) {
  if (time == NULL) return UINT64_MAX;
  uint64_t now = gcs_now(), distance = gcs_nanoseconds(time);
  return distance > UINT64_MAX - now ? UINT64_MAX : now + distance;
}

// MARK: A word that says which thread holds it

static bool take(uint32_t *word) {
  if ((value(word) & FUTEX_TID_MASK) != 0) return false;
  // With that bit the thread gives it back through the kernel: others may wait.
  __atomic_store_n(word, (uint32_t)gettid() | FUTEX_WAITERS, __ATOMIC_RELAXED);
  return true;
}

static long lock(uint32_t *word, uint64_t deadline) {
  while (!take(word)) {
    uint32_t owner = value(word) & FUTEX_TID_MASK;
    if (owner == (uint32_t)gettid()) return -EDEADLK;
    __atomic_fetch_or(word, FUTEX_WAITERS, __ATOMIC_RELAXED);
    if (!gcs_wait(word, GCS_LOCK, owner, deadline)) return -ETIMEDOUT;
  }
  return 0;
}

static long unlock(uint32_t *word) {
  if ((value(word) & FUTEX_TID_MASK) != (uint32_t)gettid()) return -EPERM;
  __atomic_store_n(word, 0, __ATOMIC_RELAXED);
  gcs_wake(word, 1, false);
  return 0;
}

// MARK: Some of those that wait for a word

// Where the kernel would choose among them, or have them wait for another word, all of them go on: a wait may end for nothing, and a thread
// that goes on looks at its word again.

/// Up to so many of those that wait with a bit of the mask.
static long wake_some(const uint32_t *word, uint32_t number, uint32_t mask, bool is_point) {
  if (mask == 0) return -EINVAL;
  if (mask == FUTEX_BITSET_MATCH_ANY) return gcs_wake(word, (int)number, is_point);
  uint32_t woken = (uint32_t)gcs_wake(word, INT32_MAX, is_point);
  return woken < number ? woken : number;
}

/// Of those, so many are to wait no longer, and so many for another word. How many these are together.
static long requeue(const uint32_t *word, int woken, int moved, bool is_point) {
  if (woken < 0 || moved < 0) return -EINVAL;
  return gcs_wake(word, moved > INT32_MAX - woken ? INT32_MAX : woken + moved, is_point);
}

// MARK: The call

/// Its arguments are words. False if it is none of those.
static bool futex(const long *words, bool is_point, long *result) {
  uint32_t *word = (uint32_t *)words[0], number = (uint32_t)words[2];
  int operation = (int)words[1], second = (int)words[3];
  const struct timespec *time = (const struct timespec *)words[3];
  clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT: *result = wait(word, number, from_now(time)); return true;
    case FUTEX_WAIT_BITSET: *result = wait(word, number, gcs_instant(clock, time)); return true;
    case FUTEX_WAKE: *result = gcs_wake(word, (int)number, is_point); return true;
    case FUTEX_WAKE_BITSET: *result = wake_some(word, number, (uint32_t)words[5], is_point); return true;
    case FUTEX_REQUEUE: *result = requeue(word, (int)number, second, is_point); return true;
    case FUTEX_CMP_REQUEUE:
      *result = value(word) != (uint32_t)words[5] ? -EAGAIN : requeue(word, (int)number, second, is_point);
      return true;
    case FUTEX_LOCK_PI: *result = lock(word, gcs_instant(CLOCK_REALTIME, time)); return true;
    case FUTEX_LOCK_PI2: *result = lock(word, gcs_instant(clock, time)); return true;
    case FUTEX_TRYLOCK_PI: *result = take(word) ? 0 : -EAGAIN; return true;
    case FUTEX_UNLOCK_PI: *result = unlock(word); return true;
    default: return false;
  }
}

long syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int index = 0; index < 6; index += 1) words[index] = va_arg(list, long);
  va_end(list);
  if (gcs_is_simulated()) {
    if (number == SYS_getrandom) return getrandom((void *)words[0], (size_t)words[1], (unsigned)words[2]);
    long result;
    bool is_point = gcs_is_in_program(__builtin_return_address(0));
    if (number == SYS_futex && futex(words, is_point, &result)) {
      if (result >= 0) return result;
      errno = (int)-result;
      return -1;
    }
  }
  return __wrap_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
