// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What dispatch_group_async is made of. The program's own function takes the place of the library's.
//
// Prints:
//   3 tasks by our own function

#include <dispatch/dispatch.h>
#include <stdatomic.h>

#include "expect.h"

static atomic_int calls, finished;

void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
  calls++;
  dispatch_retain(group);
  dispatch_group_enter(group);
  dispatch_async(queue, ^{
    block();
    dispatch_group_leave(group);
    dispatch_release(group);
  });
}

int main(void) {
  dispatch_queue_t queue = dispatch_queue_create("com.example.tasks", DISPATCH_QUEUE_CONCURRENT);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 3; i++) {
    dispatch_group_async(group, queue, ^{
      finished++;
    });
  }
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  expect(finished == 3);
  printf("%d tasks by our own function\n", calls);
  dispatch_release(group);
  dispatch_release(queue);
}
