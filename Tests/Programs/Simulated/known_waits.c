// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Known bugs: what waits for ever, or goes on too early. known.h says how the program is called.

#include "known.h"

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void wait_for_change(void) { pthread_cond_wait(&changed, &first_lock); }

// A wait without a look at what it waits for: the signal may have come before.
static bool is_ready;

FUNCTION(wait_for_ready) {
  lock();
  if (!repaired) wait_for_change();
  while (!is_ready) wait_for_change();
  unlock();
}

FUNCTION(get_ready) {
  lock();
  is_ready = true;
  pthread_cond_signal(&changed);
  unlock();
}

static bool lost_signal(void) {
  as_threads(2, (work[]){wait_for_ready, get_ready});
  return true;
}

// Producers and consumers wait for one condition, and a signal wakes one of them: perhaps the one that has nothing to do.
static int filled;

static void tell(void) { (repaired ? pthread_cond_broadcast : pthread_cond_signal)(&changed); }

FUNCTION(produce) {
  lock();
  while (filled == 1) wait_for_change();
  filled += 1;
  tell();
  unlock();
}

FUNCTION(consume) {
  lock();
  while (filled == 0) wait_for_change();
  filled -= 1;
  tell();
  unlock();
}

static bool one_condition(void) {
  as_threads(4, (work[]){consume, consume, produce, produce});
  return filled == 0;
}

// `if` where it has to be `while`: another consumer has been there.
static bool took_nothing;

FUNCTION(take) {
  lock();
  if (repaired) {
    while (filled == 0) wait_for_change();
  } else if (filled == 0) {
    wait_for_change();
  }
  took_nothing |= filled == 0;
  filled -= 1;
  unlock();
}

FUNCTION(put_two) {
  for (int piece = 0; piece < 2; piece++) {
    lock();
    filled += 1;
    pthread_cond_broadcast(&changed);
    unlock();
  }
}

static bool if_for_while(void) {
  as_threads(3, (work[]){take, take, put_two});
  return !took_nothing;
}

// Three philosophers, and each takes the left fork first.
static dispatch_semaphore_t forks[3];

static void eat(int left) {
  int right = (left + 1) % 3;
  bool turns_round = repaired && right < left;
  dispatch_semaphore_wait(forks[turns_round ? right : left], DISPATCH_TIME_FOREVER);
  dispatch_semaphore_wait(forks[turns_round ? left : right], DISPATCH_TIME_FOREVER);
  dispatch_semaphore_signal(forks[left]);
  dispatch_semaphore_signal(forks[right]);
}

FUNCTION(first_eats) { eat(0); }
FUNCTION(second_eats) { eat(1); }
FUNCTION(third_eats) { eat(2); }

static bool philosophers(void) {
  for (int fork = 0; fork < 3; fork++) forks[fork] = dispatch_semaphore_create(1);
  as_items(3, (work[]){first_eats, second_eats, third_eats});
  return true;
}

// An error's way out keeps the semaphore.
static dispatch_semaphore_t slot;
static bool has_failed;

FUNCTION(try_once) {
  dispatch_semaphore_wait(slot, DISPATCH_TIME_FOREVER);
  lock();
  bool fails = has_failed;
  has_failed = true;
  unlock();
  pause_here();
  if (fails && !is_ready) {
    if (repaired) dispatch_semaphore_signal(slot);
    return;
  }
  is_ready = true;
  dispatch_semaphore_signal(slot);
}

static bool error_path(void) {
  slot = dispatch_semaphore_create(2);
  as_items(3, (work[]){try_once, try_once, try_once});
  dispatch_semaphore_wait(slot, DISPATCH_TIME_FOREVER);
  dispatch_semaphore_wait(slot, DISPATCH_TIME_FOREVER);
  dispatch_semaphore_signal(slot);
  dispatch_semaphore_signal(slot);
  return true;
}

int main(int count, char **words) {
  const struct known all[] = {
    KNOWN(lost_signal), KNOWN(one_condition), KNOWN(if_for_while), KNOWN(philosophers), KNOWN(error_path),
  };
  return run_known(count, words, all, sizeof all / sizeof *all);
}
