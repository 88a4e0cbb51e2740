// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What settings of objects do: widths, floors of the quality of service, contexts of queues that everybody shares.

#include "check.h"

#include <Block.h>
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void dispatch_queue_set_width(dispatch_queue_t queue, long width);

static int running, most, finished;

static void count(void *unused) {
  (void)unused;
  int now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
  int seen = __atomic_load_n(&most, __ATOMIC_SEQ_CST);
  while (now > seen && !__atomic_compare_exchange_n(&most, &seen, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  // The library sees this wait, and adds threads to the pool.
  dispatch_semaphore_t never = dispatch_semaphore_create(0);
  dispatch_semaphore_wait(never, dispatch_time(DISPATCH_TIME_NOW, 200000));
  dispatch_release(never);
  __atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
}

// No more items at once than the width says, however they come; and with room for several, there are several.
static void widths(void) {
  for (long width = 1; width <= 3; width++) {
    running = most = finished = 0;
    dispatch_queue_t queue = dispatch_queue_create("width", DISPATCH_QUEUE_CONCURRENT);
    dispatch_queue_set_width(queue, width);
    for (int i = 0; i < 60; i++) {
      dispatch_async_f(queue, NULL, count);
      if (i % 10 == 5) dispatch_barrier_async_f(queue, NULL, count);
      if (i % 10 == 8) dispatch_sync_f(queue, NULL, count);
    }
    dispatch_barrier_sync_f(queue, NULL, count);
    CHECK(finished == 73);
    CHECK(most <= width);
    CHECK(width == 1 || most > 1);
    dispatch_release(queue);
  }
  // Numbers of processors, of some kind or other.
  running = most = finished = 0;
  dispatch_queue_t queue = dispatch_queue_create("wide", DISPATCH_QUEUE_CONCURRENT);
  dispatch_queue_set_width(queue, -3);
  for (int i = 0; i < 16; i++) dispatch_async_f(queue, NULL, count);
  dispatch_barrier_sync_f(queue, NULL, count);
  CHECK(finished == 17 && most <= sysconf(_SC_NPROCESSORS_CONF));
  dispatch_release(queue);
}

static dispatch_semaphore_t behind;

static void wait_for_those_behind(void *unused) {
  (void)unused;
  if (dispatch_semaphore_wait(behind, dispatch_time(DISPATCH_TIME_NOW, 20000000000)) == 0) finished++;
}

static void release_the_first(void *unused) {
  (void)unused;
  dispatch_semaphore_signal(behind);
}

static void nothing(void *unused) { (void)unused; }

// A place is filled as soon as it is free, not when all are; a new width comes in order with the items.
static void places(void) {
  behind = dispatch_semaphore_create(0);
  dispatch_queue_t queue = dispatch_queue_create("places", DISPATCH_QUEUE_CONCURRENT);
  dispatch_queue_set_width(queue, 2);
  finished = 0;
  dispatch_async_f(queue, NULL, wait_for_those_behind);
  for (int i = 0; i < 20; i++) dispatch_async_f(queue, NULL, nothing);
  dispatch_async_f(queue, NULL, release_the_first);
  dispatch_barrier_sync_f(queue, NULL, nothing);
  CHECK(finished == 1);
  running = most = finished = 0;
  dispatch_queue_set_width(queue, 1);
  for (int i = 0; i < 10; i++) dispatch_async_f(queue, NULL, count);
  dispatch_queue_set_width(queue, 3);
  dispatch_barrier_sync_f(queue, NULL, nothing);
  CHECK(finished == 10 && most == 1);
  for (int i = 0; i < 10; i++) dispatch_async_f(queue, NULL, count);
  dispatch_barrier_sync_f(queue, NULL, nothing);
  CHECK(finished == 20 && most <= 3);
  dispatch_release(queue);
  dispatch_release(behind);
}

static void leave_group(void *group) { dispatch_group_leave((dispatch_group_t)group); }

// A group that was entered stays until it has been left, even if its last reference goes: a waiter may release it at once.
static void groups(void) {
  dispatch_group_t group = dispatch_group_create();
  dispatch_group_enter(group);
  dispatch_group_enter(group);
  dispatch_release(group);
  dispatch_group_leave(group);
  CHECK(dispatch_group_wait(group, DISPATCH_TIME_NOW) != 0);
  dispatch_group_leave(group);
  dispatch_queue_t queue = dispatch_get_global_queue(0, 0);
  for (int i = 0; i < 500; i++) {
    group = dispatch_group_create();
    dispatch_group_enter(group);
    dispatch_async_f(queue, group, leave_group);
    if (i % 3 == 0) dispatch_group_async_f(group, queue, NULL, nothing);
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
    dispatch_release(group);
  }
}

static char order[8];

static void note(void *letter) { strncat(order, letter, 1); }

// On a workloop more urgent items come first: what a floor raises is more urgent.
static void floors(void) {
  dispatch_queue_attr_t inactive = dispatch_queue_attr_make_initially_inactive(DISPATCH_QUEUE_SERIAL);
  dispatch_workloop_t loop = dispatch_workloop_create_inactive("loop");
  dispatch_queue_t low = dispatch_queue_create_with_target(
      "low", dispatch_queue_attr_make_with_qos_class(inactive, 0x11, 0), (dispatch_queue_t)loop);
  dispatch_queue_t raised = dispatch_queue_create_with_target(
      "raised", dispatch_queue_attr_make_with_qos_class(inactive, 0x09, 0), (dispatch_queue_t)loop);
  dispatch_set_qos_class_floor(raised, 0x21, 0);
  dispatch_activate(low);
  dispatch_activate(raised);
  dispatch_async_f(low, "l", note);
  dispatch_async_f(raised, "r", note);
  CHECK(order[0] == 0);
  dispatch_activate(loop);
  dispatch_sync_f(low, "", note);
  dispatch_sync_f(raised, "", note);
  CHECK(strcmp(order, "rl") == 0);
  // The floor does not change what the queue was made with, and this call tells that.
  CHECK(dispatch_queue_get_qos_class(raised, NULL) == 0x09);
  dispatch_release(low);
  dispatch_release(raised);
  dispatch_release(loop);
}

static void contexts(void) {
  static int context;
  dispatch_queue_t queues[] = {dispatch_get_main_queue(), dispatch_get_global_queue(0, 0),
                               dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_LOW, 0)};
  for (int i = 0; i < 3; i++) {
    CHECK(dispatch_get_context(queues[i]) == NULL);
    dispatch_set_context(queues[i], &context);
    CHECK(dispatch_get_context(queues[i]) == &context);
    dispatch_set_context(queues[i], NULL);
  }
}

// Q11: a queue without a class of its own has that of the global queue that is its target, as far as the next one is not asked.
static void classes(void) {
  static const struct { long priority; dispatch_qos_class_t class; } targets[] = {
      {DISPATCH_QUEUE_PRIORITY_HIGH, 0x19}, {DISPATCH_QUEUE_PRIORITY_DEFAULT, 0},
      {DISPATCH_QUEUE_PRIORITY_LOW, 0x11}, {DISPATCH_QUEUE_PRIORITY_BACKGROUND, 0x09}};
  for (int i = 0; i < 4; i++) {
    dispatch_queue_t target = dispatch_get_global_queue(targets[i].priority, 0);
    dispatch_queue_t made = dispatch_queue_create_with_target("made", NULL, target);
    dispatch_queue_t moved = dispatch_queue_create("moved", NULL);
    dispatch_set_target_queue(moved, target);
    dispatch_queue_t above = dispatch_queue_create_with_target("above", NULL, made);
    int relative = 1;
    CHECK(dispatch_queue_get_qos_class(made, &relative) == targets[i].class && relative == 0);
    dispatch_sync(moved, ^{});
    CHECK(dispatch_queue_get_qos_class(moved, NULL) == targets[i].class);
    CHECK(dispatch_queue_get_qos_class(above, NULL) == 0);
    dispatch_release(above);
    dispatch_release(moved);
    dispatch_release(made);
  }
}

// Q5: what Darwin calls maintenance is background work, for blocks as for queues.
static void maintenance(void) {
  CHECK(dispatch_get_global_queue(0x05, 0) == dispatch_get_global_queue(0x09, 0));
  // 2 asks for a thread at once, and has no effect; no other flag is defined.
  for (uintptr_t flag = 1; flag != 0; flag <<= 1) CHECK((dispatch_get_global_queue(0, flag) != NULL) == (flag == 2));
  CHECK(dispatch_get_global_queue(0, 2) == dispatch_get_global_queue(0, 0));
  __block int runs = 0;
  dispatch_block_t item = dispatch_block_create_with_qos_class(0, 0x05, 0, ^{
    runs++;
  });
  CHECK(item != NULL);
  CHECK(dispatch_block_create_with_qos_class(0, 0x06, 0, item) == NULL);
  item();
  CHECK(runs == 1);
  Block_release(item);
}

// C5: a block that waits for itself for a while goes on afterwards.
static void waits_for_itself(void) {
  __block dispatch_block_t item = NULL;
  __block intptr_t result = 0;
  item = dispatch_block_create(0, ^{
    result = dispatch_block_wait(item, dispatch_time(DISPATCH_TIME_NOW, NSEC_PER_MSEC));
    if (result != 0) result = dispatch_block_wait(item, DISPATCH_TIME_NOW);
  });
  dispatch_queue_t queue = dispatch_queue_create("itself", NULL);
  dispatch_async(queue, item);
  dispatch_sync(queue, ^{});
  CHECK(result != 0);
  Block_release(item);
  dispatch_release(queue);
}

int main(void) {
  classes();
  maintenance();
  waits_for_itself();
  widths();
  places();
  groups();
  floors();
  contexts();
  printf("%d checks\n", checks);
}
