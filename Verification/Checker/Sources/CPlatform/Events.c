// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Event descriptors and timer descriptors.

#include "Machine.h"

// MARK: Event descriptors: a count that a read takes

typedef struct {
  uint64_t count;
} counter;

static uint32_t event_ready(machine_file *file) {
  counter *event = file->state;
  return (event->count > 0 ? GC_EPOLLIN : 0) | (event->count < UINT64_MAX - 1 ? GC_EPOLLOUT : 0);
}

static ssize_t event_read(machine_file *file, void *buffer, size_t count) {
  counter *event = file->state;
  if (count < sizeof event->count) return -EINVAL;
  if (event->count == 0) return -EAGAIN;
  memcpy(buffer, &event->count, sizeof event->count);
  event->count = 0;
  machine_notify(file, GC_EPOLLOUT);
  return sizeof event->count;
}

static ssize_t event_write(machine_file *file, const void *buffer, size_t count) {
  counter *event = file->state;
  uint64_t more;
  if (count < sizeof more) return -EINVAL;
  memcpy(&more, buffer, sizeof more);
  if (more == UINT64_MAX) return -EINVAL;
  if (event->count >= UINT64_MAX - more) return -EAGAIN;
  event->count += more;
  machine_notify(file, GC_EPOLLIN);
  return sizeof more;
}

static const machine_kind event_kind = {
    .name = "eventfd", .ready = event_ready, .read = event_read, .write = event_write, .keeps_messages = true, .is_watchable = true};

int gc_eventfd(void) {
  machine_point("eventfd", NULL);
  return machine_open(&event_kind, machine_new(sizeof(counter)), true);
}

int gc_eventfd_renew(int fd) {
  int fresh = gc_eventfd();
  if (fresh < 0) return fresh;
  machine_move(fresh, fd);
  return fd;
}

// MARK: Timer descriptors

typedef struct timer {
  machine_file *file;
  int clock;
  /// On its clock; 0 while it is not armed, or has expired.
  uint64_t deadline;
  uint64_t expirations;
  bool wants_steps, was_stepped;
  uint64_t event;
  struct timer *next;
} timer;

static timer *timers;
static void reset_timers(void) { timers = NULL; }
MACHINE_PART(timers, reset_timers)

static void call_off(timer *timer) {
  if (timer->event != 0) ck_cancel_event(timer->event);
  timer->event = 0;
}

static void expire(void *context) {
  timer *timer = context;
  timer->event = 0;
  timer->deadline = 0;
  timer->expirations++;
  machine_notify(timer->file, GC_EPOLLIN);
}

static void arm(timer *timer) {
  call_off(timer);
  if (timer->deadline == 0) return;
  uint64_t instant = machine_uptime_of(timer->clock, timer->deadline);
  if (instant <= machine_uptime()) return expire(timer);
  timer->event = ck_at(instant, expire, timer);
}

static uint32_t timer_ready(machine_file *file) { return ((timer *)file->state)->expirations > 0 ? GC_EPOLLIN : 0; }

/// Whether the clock was set since the last reader was told.
static bool take_step(timer *timer) {
  bool stepped = timer->wants_steps && timer->was_stepped;
  if (stepped) timer->was_stepped = false;
  return stepped;
}

static ssize_t timer_read(machine_file *file, void *buffer, size_t count) {
  timer *timer = file->state;
  uint64_t expirations = timer->expirations;
  if (count < sizeof expirations) return -EINVAL;
  if (expirations == 0) return -EAGAIN;
  timer->expirations = 0;
  if (take_step(timer)) return -ECANCELED;
  memcpy(buffer, &expirations, sizeof expirations);
  return sizeof expirations;
}

static void timer_closed(machine_file *file) {
  timer *gone = file->state;
  call_off(gone);
  for (timer **link = &timers; *link != NULL; link = &(*link)->next) {
    if (*link != gone) continue;
    *link = gone->next;
    return;
  }
}

static const machine_kind timer_kind = {
    .name = "timerfd", .ready = timer_ready, .read = timer_read, .closed = timer_closed, .keeps_messages = true, .is_watchable = true};

int gc_timerfd_create(int clock) {
  machine_point("timerfd", NULL);
  if (clock != GC_CLOCK_WALL && clock != GC_CLOCK_BOOT && clock != 1) return -EINVAL;
  timer *made = machine_new(sizeof *made);
  int fd = machine_open(&timer_kind, made, true);
  if (fd < 0) return fd;
  *made = (timer){.file = machine_file_of(fd), .clock = clock, .next = timers};
  timers = made;
  return fd;
}

int gc_timerfd_set(int fd, uint64_t deadline_ns, bool cancel_on_set) {
  machine_file *file = machine_file_of(fd);
  machine_point("timerfd-set", file);
  file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  if (file->kind != &timer_kind) return -EINVAL;
  timer *timer = file->state;
  machine_sync(file);
  // A step does not count that came before the timer asked for steps.
  bool wanted = timer->wants_steps;
  timer->wants_steps = timer->clock == GC_CLOCK_WALL && cancel_on_set;
  if (timer->wants_steps && !wanted) timer->was_stepped = false;
  timer->expirations = 0;
  timer->deadline = deadline_ns;
  arm(timer);
  // It is armed all the same.
  return deadline_ns != 0 && take_step(timer) ? -ECANCELED : 0;
}

void machine_timers_jumped(bool was_set) {
  for (timer *timer = timers; timer != NULL; timer = timer->next) {
    if (was_set && timer->wants_steps) {
      timer->was_stepped = true;
      timer->expirations++;
      machine_notify(timer->file, GC_EPOLLIN);
    }
    if (timer->clock != 1) arm(timer);
  }
}
