// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Items and their submitter write to one variable, with nothing between them: what ThreadSanitizer is to find, in one
// round or another.

#include <dispatch/dispatch.h>

static int raced;

static void write_to_it(void *over) {
  raced++;
  dispatch_semaphore_signal(over);
}

int main(void) {
  dispatch_semaphore_t over = dispatch_semaphore_create(0);
  for (int round = 0; round < 1000; round++) {
    dispatch_async_f(dispatch_get_global_queue(0, 0), over, write_to_it);
    raced++;
    dispatch_semaphore_wait(over, DISPATCH_TIME_FOREVER);
  }
  return raced == 0;
}
