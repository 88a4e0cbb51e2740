//===- Watches.c - waits for descriptors --------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for descriptors says which, and goes on once the kernel
// says that one of them is ready. It is asked behind everything that may have
// made one ready, and where no thread can go on.
//
// A thread in the kernel keeps what it waits for, whatever becomes of the
// number: another thread may close it, or give it to something else. Here it
// is duplicated at that moment, for as long as the wait takes.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct gcs_watch *watches;

int gcs_count_ready(const struct pollfd *polled, nfds_t count, const short *wanted) {
  int ready = 0;
  for (nfds_t index = 0; index < count; index += 1) {
    int events = polled[index].revents;
    if (wanted != NULL) events &= wanted[index] | POLLNVAL;
    ready += events != 0;
  }
  return ready;
}

static bool is_ready(const struct gcs_watch *watch) {
  if (__wrap_poll(watch->polled, watch->count, 0) <= 0) return false;
  return gcs_count_ready(watch->polled, watch->count, watch->wanted) > 0;
}

static bool wake(struct gcs_watch *watch) {
  watch->is_woken = true;
  return gcs_wake(watch, 1, false) > 0;
}

// MARK: A wait

bool gcs_watch_wait(struct gcs_watch *watch, const char *words, uint64_t deadline) {
  if (!watch->is_listed) {
    struct gcs_watch **end = &watches;
    while (*end != NULL) end = &(*end)->next;
    *end = watch;
    watch->next = NULL;
    watch->is_listed = true;
    // What it has done before may have made others ready, also where that was not seen: by stdio, for example.
    gcs_count_step();
  }
  watch->is_woken = false;
  bool was_woken = gcs_wait_described_cancellable(watch, words, deadline);
  watch->is_woken = true;
  // What it does now may make others ready. One that looks for itself may find nothing, and would be asked again for that.
  if (was_woken && !watch->asks_itself) gcs_count_step();
  pthread_testcancel();
  return was_woken;
}

// MARK: What changes

void gcs_descriptors_changed(bool is_point) {
  if (!gcs_is_simulated()) return;
  int kept = errno;
  bool has_woken = false;
  for (struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) {
    if (!watch->is_woken && (watch->waits_for_change || is_ready(watch))) has_woken |= wake(watch);
  }
  has_woken |= gcs_end_polls();
  if (has_woken && is_point) gcs_done();
  errno = kept;
}

bool gcs_look(void) {
  int kept = errno;
  bool has_woken = false;
  for (struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) {
    if (!watch->is_woken && (watch->asks_itself || (!watch->waits_for_change && is_ready(watch)))) has_woken |= wake(watch);
  }
  errno = kept;
  return has_woken;
}

// MARK: What is outside

void gcs_watches_let_go(void) {
  for (struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) {
    for (nfds_t index = 0; index < watch->count; index += 1) {
      int descriptor = watch->polled[index].fd;
      if (descriptor >= 0 && (gcs_sides_of(descriptor) & GCS_HAS_OUTSIDE) != 0) watch->is_mixed = true;
    }
  }
}

bool gcs_await_outside(uint64_t nanoseconds) {
  nfds_t count = 0;
  for (const struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) {
    if (watch->is_mixed) count += watch->count;
  }
  struct pollfd *all = count == 0 ? NULL : malloc(count * sizeof *all);
  if (all == NULL) return false;
  int kept = errno;
  nfds_t used = 0;
  for (const struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) {
    if (!watch->is_mixed) continue;
    memcpy(all + used, watch->polled, watch->count * sizeof *all);
    used += watch->count;
  }
  uint64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
  int longest = nanoseconds == UINT64_MAX ? -1 : milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds;
  bool has_come = used > 0 && __wrap_poll(all, used, longest) != 0 && gcs_look();
  free(all);
  errno = kept;
  return has_come;
}

uint64_t gcs_next_expiration(bool is_polled) {
  uint64_t timer = watches != NULL || is_polled ? gcs_timer_next() : UINT64_MAX, alarm = gcs_alarm_next();
  return timer < alarm ? timer : alarm;
}

// MARK: Numbers that go

/// A duplicate, for the wait.
struct kept {
  int descriptor;
  const struct gcs_watch *watch;
  struct kept *next;
};

static struct kept *all_kept;

/// Where no program looks for a number; else any. -1 if there is none: then nothing ends the wait any more.
static int duplicate(int descriptor) {
  int copy = gcs_next_fcntl(descriptor, F_DUPFD_CLOEXEC, (void *)512);
  if (copy < 0) copy = gcs_next_fcntl(descriptor, F_DUPFD_CLOEXEC, (void *)3);
  if (copy >= 0) gcs_timer_copied(descriptor, copy);
  return copy;
}

static void keep(struct gcs_watch *watch, int descriptor) {
  struct kept *new = NULL;
  for (nfds_t index = 0; index < watch->count; index += 1) {
    if (watch->polled[index].fd != descriptor) continue;
    if (new == NULL) {
      new = calloc(1, sizeof *new);
      if (new == NULL) abort();
      *new = (struct kept){.descriptor = duplicate(descriptor), .watch = watch, .next = all_kept};
      all_kept = new;
    }
    watch->polled[index].fd = new->descriptor;
  }
}

void gcs_number_goes(int descriptor) {
  int kept = errno;
  for (struct gcs_watch *watch = watches; watch != NULL; watch = watch->next) keep(watch, descriptor);
  gcs_timer_number_goes(descriptor);
  errno = kept;
}

void gcs_unwatch(void *context) {
  struct gcs_watch *watch = context;
  if (!watch->is_listed) return;
  int kept = errno;
  struct gcs_watch **place = &watches;
  while (*place != watch) place = &(*place)->next;
  *place = watch->next;
  watch->is_listed = false;
  bool has_closed = false;
  for (struct kept **next = &all_kept; *next != NULL;) {
    struct kept *this = *next;
    if (this->watch != watch) {
      next = &this->next;
      continue;
    }
    *next = this->next;
    gcs_timer_number_goes(this->descriptor);
    if (this->descriptor >= 0) gcs_next_close(this->descriptor);
    free(this);
    has_closed = true;
  }
  if (has_closed) gcs_descriptors_changed(false);
  errno = kept;
}
