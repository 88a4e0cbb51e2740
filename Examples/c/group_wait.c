// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A group: wait until several tasks have finished.
//
// Prints:
//   10 tasks finished

#include <dispatch/dispatch.h>
#include <stdatomic.h>

#include "expect.h"

int main(void) {
  __block atomic_int finished = 0;
  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_group_t group = dispatch_group_create();

  for (int i = 0; i < 10; i++) {
    dispatch_group_async(group, queue, ^{
      finished++;
    });
  }

  // Meanwhile the caller could do something else; here it has nothing to do but wait.
  expect(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
  printf("%d tasks finished\n", finished);

  dispatch_release(group);
}
