// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Known bugs: what is done in two steps, and what comes in the wrong order. known.h says how the program is called.

#include "known.h"

#include <sys/eventfd.h>

// MARK: What is done in two steps

// A balance is read under the lock, and written under it, but not in one go.
static int balance = 100;

static void change(int amount) {
  lock();
  int seen = balance;
  if (!repaired) {
    unlock();
    lock();
  }
  balance = seen + amount;
  unlock();
}

FUNCTION(pay_in) { change(10); }
FUNCTION(draw) { change(-20); }

static bool account(void) {
  as_threads(2, (work[]){pay_in, draw});
  return balance == 90;
}

// Two threads guard one value, each by a lock of its own.
static int guarded;

static void add_by(pthread_mutex_t *guard) {
  pthread_mutex_lock(guard);
  int seen = guarded;
  pause_here();
  guarded = seen + 1;
  pthread_mutex_unlock(guard);
}

static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;

FUNCTION(add_by_first) { add_by(&first_lock); }
FUNCTION(add_by_second) { add_by(repaired ? &first_lock : &second_lock); }

static bool wrong_lock(void) {
  as_items(2, (work[]){add_by_first, add_by_second});
  return guarded == 2;
}

// Two threads find that nothing has been made yet.
static bool is_made;
static int times_made;

FUNCTION(make_now) {
  pause_here();
  times_made += 1;
  is_made = true;
}

FUNCTION(make) {
  static dispatch_once_t once;
  if (repaired) {
    dispatch_once_f(&once, NULL, make_now);
  } else if (!is_made) {
    make_now(NULL);
  }
}

static bool lazy(void) {
  as_items(2, (work[]){make, make});
  return times_made == 1;
}

// A file is closed by two threads that both find it open.
static bool is_open = true;
static int times_closed;

FUNCTION(close_file) {
  if (repaired) lock();
  if (is_open) {
    pause_here();
    is_open = false;
    times_closed += 1;
  }
  if (repaired) unlock();
}

static bool close_twice(void) {
  as_threads(2, (work[]){close_file, close_file});
  return times_closed == 1;
}

// A writer on a concurrent queue, beside readers and other writers.
static int entries;

FUNCTION(add_entry) {
  int seen = entries;
  pause_here();
  entries = seen + 1;
}

FUNCTION(do_nothing) {}

static bool no_barrier(void) {
  dispatch_queue_t cache = dispatch_queue_create("cache", DISPATCH_QUEUE_CONCURRENT);
  for (int entry = 0; entry < 3; entry++) {
    (repaired ? dispatch_barrier_async_f : dispatch_async_f)(cache, NULL, add_entry);
  }
  dispatch_barrier_sync_f(cache, NULL, do_nothing);
  return entries == 3;
}

// A count of references falls in two steps: nobody sees the last one go, or two do.
static int references = 2, times_freed;

FUNCTION(release) {
  lock();
  references -= 1;
  bool was_last = references == 0;
  if (!repaired) {
    unlock();
    lock();
    was_last = references == 0;
  }
  times_freed += was_last;
  unlock();
}

static bool reference(void) {
  as_threads(2, (work[]){release, release});
  return times_freed == 1;
}

// Work begins on a device that stops: it looks before it counts itself.
static bool is_stopping, is_stopped, has_misbehaved;
static int working;

FUNCTION(use_device) {
  if (repaired) lock();
  bool may_begin = !is_stopping;
  if (may_begin) {
    pause_here();
    working += 1;
  }
  if (repaired) unlock();
  if (!may_begin) return;
  has_misbehaved |= is_stopped;
  pause_here();
  if (repaired) lock();
  working -= 1;
  if (repaired) unlock();
}

FUNCTION(stop_device) {
  if (repaired) lock();
  is_stopping = true;
  if (working == 0) is_stopped = true;
  if (repaired) unlock();
}

static bool driver(void) {
  as_items(2, (work[]){use_device, stop_device});
  return !has_misbehaved;
}

// MARK: What comes in the wrong order

// What a thread needs is set after the thread has been started.
static const char *setting;
static bool was_missing;

FUNCTION(use_setting) { was_missing = setting == NULL; }

static bool late_setting(void) {
  dispatch_group_t group = dispatch_group_create();
  if (repaired) setting = "set";
  dispatch_group_async_f(group, any_queue(), NULL, use_setting);
  setting = "set";
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  return !was_missing;
}

// Items enter their group themselves, so that a waiter may be there before them.
static dispatch_group_t party;
static int guests;

FUNCTION(come) {
  if (!repaired) dispatch_group_enter(party);
  lock();
  guests += 1;
  unlock();
  dispatch_group_leave(party);
}

static bool group_inside(void) {
  party = dispatch_group_create();
  for (int guest = 0; guest < 2; guest++) {
    if (repaired) dispatch_group_enter(party);
    dispatch_async_f(any_queue(), NULL, come);
  }
  dispatch_group_wait(party, DISPATCH_TIME_FOREVER);
  return guests == 2;
}

// An answer and its time-out both complete the request.
static bool is_complete;
static int completions;

FUNCTION(complete) {
  if (is_complete) return;
  pause_here();
  is_complete = true;
  completions += 1;
}

static bool time_out(void) {
  dispatch_queue_t request = dispatch_queue_create("request", NULL);
  dispatch_time_t end = dispatch_time(DISPATCH_TIME_NOW, 5 * (int64_t)NSEC_PER_SEC);
  dispatch_after_f(end, repaired ? request : any_queue(), NULL, complete);
  dispatch_after_f(end, request, NULL, complete);
  sleep(10);
  return completions == 1;
}

// A timer's handler uses what was given back beside its cancellation.
static bool has_room = true, was_gone;

FUNCTION(tick) {
  pause_here();
  was_gone |= !has_room;
}

FUNCTION(give_back) { has_room = false; }

static bool cancelled_timer(void) {
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, any_queue());
  dispatch_source_set_timer(timer, DISPATCH_TIME_NOW, 10 * NSEC_PER_MSEC, 0);
  dispatch_source_set_event_handler_f(timer, tick);
  if (repaired) dispatch_source_set_cancel_handler_f(timer, give_back);
  dispatch_resume(timer);
  usleep(30000);
  dispatch_source_cancel(timer);
  if (!repaired) give_back(NULL);
  sleep(1);
  return !was_gone;
}

// A reader sees one of two values that belong together.
static int whole, half;
static bool was_torn;

FUNCTION(write_both) {
  lock();
  whole = 2;
  if (!repaired) {
    unlock();
    lock();
  }
  half = 1;
  unlock();
}

FUNCTION(read_both) {
  lock();
  was_torn = whole != 2 * half;
  unlock();
}

static bool two_stages(void) {
  as_threads(2, (work[]){write_both, read_both});
  return !was_torn;
}

// A number is closed twice. In between it may have become another thread's.
static int counter;
static bool was_taken;

FUNCTION(close_counter) {
  close(counter);
  if (!repaired) close(counter);
}

FUNCTION(use_another) {
  int another = eventfd(0, 0);
  pause_here();
  was_taken = eventfd_write(another, 1) != 0;
  close(another);
}

static bool number_twice(void) {
  counter = eventfd(0, 0);
  as_threads(2, (work[]){close_counter, use_another});
  return !was_taken;
}

int main(int count, char **words) {
  const struct known all[] = {
    KNOWN(account), KNOWN(wrong_lock), KNOWN(lazy), KNOWN(close_twice), KNOWN(no_barrier), KNOWN(reference),
    KNOWN(driver), KNOWN(late_setting), KNOWN(group_inside), KNOWN(time_out), KNOWN(cancelled_timer),
    KNOWN(two_stages), KNOWN(number_twice),
  };
  return run_known(count, words, all, sizeof all / sizeof *all);
}
