// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Sleeping on a word. The comparison and the beginning of the wait are one step, as under the kernel's lock.
///
/// The core has the queues of threads that wait for ever or by uptime: their key is the word. A wait by the wall clock has
/// a key of its own, so that a step of that clock can have its thread look again; such waits stand in a list here.

#include "Machine.h"

typedef struct wall_wait {
  const void *word;
  bool is_woken;
  struct wall_wait *next;
} wall_wait;

static wall_wait *wall_waits;
static void reset_futexes(void) { wall_waits = NULL; }
MACHINE_PART(futexes, reset_futexes)

static bool is_valid(const struct timespec *time) {
  return time == NULL || (time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000);
}

static uint64_t nanoseconds(const struct timespec *time) {
  uint64_t seconds = (uint64_t)time->tv_sec;
  if (seconds >= UINT64_MAX / 1000000000u) return UINT64_MAX;
  return seconds * 1000000000u + (uint64_t)time->tv_nsec;
}

/// How a wait has ended, for the caller.
static int outcome(int result) {
  if (machine_self()->is_interrupted) return -EINTR;
  return result == CK_TIMED_OUT ? -ETIMEDOUT : 0;
}

static bool may_end_early(void) { return (settings.allowed & CK_MACHINE_WAKES) != 0; }

int gc_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline) {
  machine_point("futex-wait", word);
  if (!is_valid(deadline)) return -EINVAL;
  if (ck_newest32(word) != expected) return -EAGAIN;
  return outcome(machine_block(word, deadline == NULL ? UINT64_MAX : nanoseconds(deadline), may_end_early(), "futex"));
}

int gc_futex_wait_wall(const void *word, uint32_t expected, const struct timespec *deadline) {
  if (deadline == NULL) return gc_futex_wait(word, expected, NULL);
  machine_point("futex-wait-wall", word);
  if (!is_valid(deadline)) return -EINVAL;
  if (ck_newest32(word) != expected) return -EAGAIN;
  wall_wait *wait = machine_new(sizeof *wait), **link = &wall_waits;
  wait->word = word;
  while (*link != NULL) link = &(*link)->next;
  *link = wait;
  uint64_t instant = nanoseconds(deadline);
  int result;
  for (;;) {
    result = machine_block(wait, machine_uptime_of(GC_CLOCK_WALL, instant), may_end_early(), "futex-wall");
    if (wait->is_woken || machine_self()->is_interrupted || result == CK_SPURIOUS) break;
    // Woken by a step of the clock, or too early by one.
    if (machine_uptime() + machine_wall_offset >= instant) {
      result = CK_TIMED_OUT;
      break;
    }
  }
  if (wait->is_woken) result = CK_WOKEN;
  for (link = &wall_waits; *link != NULL; link = &(*link)->next) {
    if (*link != wait) continue;
    *link = wait->next;
    break;
  }
  return outcome(result);
}

int gc_futex_wake(const void *word, int count) {
  machine_point("futex-wake", word);
  int woken = ck_wake((uintptr_t)word, count);
  for (wall_wait *wait = wall_waits; wait != NULL && woken < count; wait = wait->next) {
    if (wait->word != word || wait->is_woken) continue;
    wait->is_woken = true;
    machine_wake_all(wait);
    woken++;
  }
  return woken;
}

void machine_futexes_forked(void) { wall_waits = NULL; }

void machine_futexes_jumped(void) {
  for (wall_wait *wait = wall_waits; wait != NULL; wait = wait->next) machine_wake_all(wait);
}
