// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// O1, W1: a block that stands for a work item goes with its last reference, and lets go of the block that it runs, whatever the runtime of
// blocks adds for a reference.

#include "check.h"

#include <Block.h>
#include <dispatch/dispatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A block by the published ABI, so that its end can be seen.
struct about {
  uintptr_t reserved, size;
  void (*copy)(void *to, const void *from);
  void (*dispose)(const void *block);
};

struct body {
  void *class;
  int flags, reserved;
  void (*invoke)(void *body);
  const struct about *about;
};

static int runs;
static dispatch_semaphore_t ended;

static void run(void *unused) {
  (void)unused;
  runs++;
}

static void copy(void *to, const void *from) {
  (void)to;
  (void)from;
}

static void end(const void *unused) {
  (void)unused;
  dispatch_semaphore_signal(ended);
}

static dispatch_block_t make_of(void (*invoke)(void *body), dispatch_block_flags_t flags) {
  static const struct about about = {0, sizeof(struct body), copy, end};
  struct body body = {_NSConcreteStackBlock, 1 << 25, 0, invoke, &about};
  dispatch_block_t item = dispatch_block_create(flags, (dispatch_block_t)(void *)&body);
  CHECK(item != NULL);
  return item;
}

static dispatch_block_t make(dispatch_block_flags_t flags) { return make_of(run, flags); }

static void wait_for_end(void) {
  CHECK(dispatch_semaphore_wait(ended, dispatch_time(DISPATCH_TIME_NOW, 30 * (int64_t)NSEC_PER_SEC)) == 0);
}

static long has_ended(void) { return dispatch_semaphore_wait(ended, DISPATCH_TIME_NOW) == 0; }

// Q7: what is submitted is kept until it has run. So the item may be asked for inside, by the block whose last reference of the program's own
// has gone.
static dispatch_block_t asked;
static long answer;

static void ask(void *unused) {
  (void)unused;
  answer = dispatch_block_testcancel(asked);
  dispatch_block_cancel(asked);
  answer = answer * 10 + dispatch_block_testcancel(asked);
}

static void submit(int way, dispatch_queue_t queue) {
  dispatch_group_t group = dispatch_group_create();
  switch (way) {
  case 0: dispatch_async(queue, asked); break;
  case 1: dispatch_barrier_async(queue, asked); break;
  case 2: dispatch_group_async(group, queue, asked); break;
  case 3: dispatch_group_notify(group, queue, asked); break;
  case 4: dispatch_after(dispatch_time(DISPATCH_TIME_NOW, (int64_t)NSEC_PER_MSEC), queue, asked); break;
  case 5: dispatch_after(DISPATCH_TIME_NOW, queue, asked); break;
  default: {
    dispatch_block_t first = make((dispatch_block_flags_t)0);
    dispatch_block_notify(first, queue, asked);
    first();
    Block_release(first);
    wait_for_end();
  }
  }
  dispatch_release(group);
}

static void submit_and_forget(dispatch_queue_t queue) {
  for (int way = 0; way < 7; way++) {
    asked = make_of(ask, (dispatch_block_flags_t)0);
    answer = -1;
    dispatch_suspend(queue);
    submit(way, queue);
    Block_release(asked);
    // What was freed would be given to these.
    void *others[64];
    for (int i = 0; i < 64; i++) {
      others[i] = malloc(48);
      memset(others[i], 0x41, 48);
    }
    dispatch_resume(queue);
    wait_for_end();
    CHECK(answer == 1);
    for (int i = 0; i < 64; i++) free(others[i]);
  }
}

int main(void) {
  ended = dispatch_semaphore_create(0);
  dispatch_queue_t queue = dispatch_queue_create("items", NULL);
  Block_release(make((dispatch_block_flags_t)0));
  wait_for_end();

  dispatch_block_t item = make(DISPATCH_BLOCK_BARRIER);
  dispatch_block_t same = Block_copy(item);
  CHECK(same == item);
  item();
  Block_release(item);
  CHECK(runs == 1 && !has_ended());
  Block_release(same);
  wait_for_end();

  // The queue's reference is the last one.
  item = make((dispatch_block_flags_t)0);
  dispatch_suspend(queue);
  dispatch_async(queue, item);
  Block_release(item);
  CHECK(!has_ended());
  dispatch_resume(queue);
  wait_for_end();
  CHECK(runs == 2 && !has_ended());
  submit_and_forget(queue);
  dispatch_release(queue);
  dispatch_release(ended);
  printf("%d checks\n", checks);
}
