// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// S2: a source's first event keeps its place among the items of its queue; and which context a function is called with. O3: timers
// that have fired end with their last reference.

#include "check.h"

#include <dispatch/dispatch.h>

static void nothing(void *unused) { (void)unused; }

// An item that was submitted behind the event does not overtake it, whether the source was activated before or after, and whatever
// handlers it has.
static void first_events(void) {
  dispatch_queue_t queue = dispatch_queue_create("first", NULL);
  for (int round = 0; round < 2000; round++) {
    int registers = round & 1, early = round & 2, suspends = round & 4;
    __block int events = 0, registrations = 0;
    dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
    dispatch_source_set_event_handler(source, ^{ events++; });
    if (registers) dispatch_source_set_registration_handler(source, ^{ registrations++; });
    if (early) dispatch_source_merge_data(source, 1);
    dispatch_activate(source);
    if (suspends) dispatch_suspend(source);
    if (!early) dispatch_source_merge_data(source, 1);
    if (suspends) dispatch_resume(source);
    if (round & 8) {
      dispatch_sync_f(queue, NULL, nothing);
      CHECK(events == 1);
    } else {
      __block int before = -1;
      dispatch_async(queue, ^{ before = events; });
      dispatch_sync_f(queue, NULL, nothing);
      CHECK(before == 1);
    }
    CHECK(registrations == registers);
    dispatch_source_cancel(source);
    dispatch_release(source);
  }
  dispatch_sync_f(queue, NULL, nothing);
  dispatch_release(queue);
}

static void *called_with;

static void note(void *context) { called_with = context; }

static dispatch_source_t source;
static dispatch_queue_t queue;

static void *event(void) {
  called_with = NULL;
  dispatch_source_merge_data(source, 1);
  dispatch_sync_f(queue, NULL, nothing);
  return called_with;
}

// An event handler keeps the context that the source had when the handler was set, or when an inactive source began; a cancel
// handler gets the last one.
static void contexts(void) {
  char a, b, c;
  queue = dispatch_queue_create("contexts", NULL);
  source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
  dispatch_source_set_event_handler_f(source, note);
  dispatch_source_set_cancel_handler_f(source, note);
  dispatch_set_context(source, &a);
  dispatch_activate(source);
  CHECK(event() == &a);
  dispatch_set_context(source, &b);
  CHECK(event() == &a);
  dispatch_source_set_event_handler_f(source, note);
  CHECK(event() == &b);
  dispatch_set_context(source, &c);
  CHECK(event() == &b);
  dispatch_source_cancel(source);
  dispatch_sync_f(queue, NULL, nothing);
  CHECK(called_with == &c);
  dispatch_release(source);
  dispatch_release(queue);
}

static void hold(void *semaphore) { dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER); }

// A cancel handler that is set when all is over runs soon, and gets the context, though the source is released by then.
static void late_handlers(void) {
  dispatch_semaphore_t held = dispatch_semaphore_create(0);
  queue = dispatch_queue_create("late", NULL);
  char contexts[100];
  for (int i = 0; i < 100; i++) {
    source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
    dispatch_source_set_event_handler_f(source, nothing);
    dispatch_activate(source);
    dispatch_source_cancel(source);
    dispatch_sync_f(queue, NULL, nothing);
    dispatch_set_context(source, &contexts[i]);
    dispatch_async_f(queue, held, hold);
    dispatch_source_set_cancel_handler_f(source, note);
    dispatch_release(source);
    // Other objects get its memory.
    dispatch_source_t others[4];
    for (int k = 0; k < 4; k++) {
      others[k] = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, queue);
      dispatch_set_context(others[k], others);
    }
    dispatch_semaphore_signal(held);
    dispatch_sync_f(queue, NULL, nothing);
    CHECK(called_with == &contexts[i]);
    for (int k = 0; k < 4; k++) {
      dispatch_activate(others[k]);
      dispatch_source_cancel(others[k]);
      dispatch_release(others[k]);
    }
    dispatch_sync_f(queue, NULL, nothing);
  }
  dispatch_release(queue);
  dispatch_release(held);
}

// A timer, and where it is released.
struct once {
  dispatch_source_t timer;
  int by_handler;
};

static dispatch_semaphore_t fired, ended;

static void fire(void *context) {
  struct once *once = context;
  if (once->by_handler) dispatch_release(once->timer);
  dispatch_semaphore_signal(fired);
}

static void end(void *context) {
  free(context);
  dispatch_semaphore_signal(ended);
}

static int comes(dispatch_semaphore_t semaphore) {
  return dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 60 * NSEC_PER_SEC)) == 0;
}

// The Swift runtime makes such a timer for each sleep with a tolerance, releases it in the handler, and does not cancel it.
static void one_shots(void) {
  fired = dispatch_semaphore_create(0);
  ended = dispatch_semaphore_create(0);
  dispatch_queue_t global = dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0);
  for (int round = 0; round < 10000; round++) {
    struct once *once = malloc(sizeof *once);
    dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, global);
    *once = (struct once){timer, round & 1};
    dispatch_source_set_timer(timer, DISPATCH_TIME_NOW, DISPATCH_TIME_FOREVER, 0);
    dispatch_set_context(timer, once);
    dispatch_set_finalizer_f(timer, end);
    dispatch_source_set_event_handler_f(timer, fire);
    dispatch_activate(timer);
    CHECK(comes(fired));
    if (!(round & 1)) dispatch_release(timer);
    CHECK(comes(ended));
  }
}

int main(void) {
  first_events();
  contexts();
  late_handlers();
  one_shots();
  printf("%d checks\n", checks);
}
