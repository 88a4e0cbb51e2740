// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Signals: those that are watched are counted, and the event descriptor is written to, as the real handler does it.
///
/// A signal for the process goes to a thread that does not block it: to the first one if it can, else to one that waits,
/// whose wait ends. If all block it, it waits. Each signal waits once.

#include "Machine.h"

#include <signal.h>

#include "CPlatformSignals.h"

enum { last = 64 };
static uint32_t counts[last + 1];
static uint64_t watched, ignored, handles, pending, pool_mask;
static uint32_t handled[last + 1];
static bool notified;
static int descriptor;

static void reset_signals(void) {
  memset(counts, 0, sizeof counts);
  memset(handled, 0, sizeof handled);
  watched = ignored = handles = pending = pool_mask = 0;
  notified = false;
  descriptor = -1;
}
MACHINE_PART(signals, reset_signals)

static uint64_t bit(int number) { return (uint64_t)1 << (number - 1); }

bool gc_signal_can_be_watched(int number) {
  switch (number) {
    case SIGKILL: case SIGSTOP: case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGTRAP: case SIGSYS:
      return false;
    default:
      return number >= 1 && number <= last && number != 32 && number != 33;
  }
}

// MARK: Delivery

/// What the handler does, on whatever thread.
static void deliver(int number) {
  if ((watched & bit(number)) != 0) {
    counts[number]++;
    machine_file *file = machine_file_of(descriptor);
    if (!notified) {
      notified = true;
      uint64_t one = 1;
      if (file != NULL && file->kind->write != NULL) file->kind->write(file, &one, sizeof one);
    }
  }
  if ((handles & bit(number)) != 0) {
    handled[number]++;
  } else if (((watched | ignored) & bit(number)) == 0 && number != SIGCHLD && number != SIGURG && number != SIGWINCH &&
             number != SIGCONT) {
    ck_fail("a signal that nobody handles would end the process");
  }
}

void machine_deliver_pending(uint64_t mask) {
  for (int number = 1; number <= last; number++) {
    if ((pending & bit(number)) == 0 || (mask & bit(number)) != 0) continue;
    pending &= ~bit(number);
    deliver(number);
  }
}

/// The first thread that lets it in.
static machine_thread *receiver(int number) {
  for (uint32_t index = 1; index <= 1024; index++) {
    machine_thread *thread = machine_thread_of(index);
    if (thread != NULL && (thread->mask & bit(number)) == 0) return thread;
  }
  return NULL;
}

void ck_machine_raise(int number) {
  machine_point("signal", NULL);
  machine_thread *thread = receiver(number);
  if (thread == NULL) {
    pending |= bit(number);
    return;
  }
  deliver(number);
  if (!thread->is_blocked || thread->computes) return;
  // Its wait in the kernel is over. The key may have other waiters, which look again as well.
  thread->is_interrupted = true;
  machine_wake_all(thread->key);
}

void machine_broken_pipe(void) {
  if ((machine_self()->mask & bit(SIGPIPE)) != 0) pending |= bit(SIGPIPE);
  else deliver(SIGPIPE);
}

void ck_machine_ignore_signal(int number) { ignored |= bit(number); }
void ck_machine_handle_signal(int number) { handles |= bit(number); }
uint32_t ck_machine_handled(int number) { return handled[number]; }

void ck_machine_block_signals(uint64_t mask) {
  pool_mask |= mask;
  machine_self()->mask |= mask;
}

// MARK: Watching

int gc_signal_watch(int number) {
  machine_point("signal-watch", NULL);
  if (number < 1 || number > last || number == SIGKILL || number == SIGSTOP) return -EINVAL;
  counts[number] = 0;
  watched |= bit(number);
  return 0;
}

void gc_signal_unwatch(int number) {
  machine_point("signal-unwatch", NULL);
  watched &= ~bit(number);
}

uint32_t gc_signal_take(int number) {
  machine_point("signal-take", &counts[number]);
  machine_sync(counts);
  uint32_t count = counts[number];
  counts[number] = 0;
  return count;
}

void gc_signals_give_up_descriptor(int fd) {
  machine_point("signal-descriptor", NULL);
  if (descriptor == fd) descriptor = -1;
}

void gc_signals_set_descriptor(int fd) {
  machine_point("signal-descriptor", NULL);
  machine_sync(counts);
  descriptor = fd;
  notified = false;
}

void gc_signals_acknowledge(void) {
  machine_point("signal-acknowledge", NULL);
  machine_sync(counts);
  notified = false;
}

bool gc_signals_are_interposed(void) { return true; }
void gc_signals_reassert(void) {}

// MARK: Masks

uint64_t gc_signals_pool_mask(void) { return pool_mask; }

bool gc_signals_wait_mask(uint64_t *mask) {
  if (watched == 0) return false;
  *mask = pool_mask & ~watched;
  return true;
}

uint64_t gc_signals_set_mask(uint64_t mask) {
  machine_thread *thread = machine_self();
  uint64_t former = thread->mask;
  thread->mask = mask;
  machine_deliver_pending(mask);
  return former;
}

void gc_signals_lock_for_fork(void) {}
void gc_signals_unlock_after_fork(bool in_child) { (void)in_child; }
