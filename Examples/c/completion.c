// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A task reports its result by a block on a queue of the caller's choice.
//
// Prints:
//   average 4 on com.example.results

#include <dispatch/dispatch.h>

#include "expect.h"

static int average(int *data, size_t len) {
  long sum = 0;
  for (size_t i = 0; i < len; i++) sum += data[i];
  return (int)(sum / (long)len);
}

static void average_async(int *data, size_t len, dispatch_queue_t queue, void (^block)(int)) {
  // The caller may release its queue before the result is there.
  dispatch_retain(queue);

  dispatch_async(dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), ^{
    int avg = average(data, len);
    dispatch_async(queue, ^{
      block(avg);
    });
    dispatch_release(queue);
  });
}

int main(void) {
  static int numbers[] = {1, 2, 3, 4, 5, 6, 7};
  dispatch_semaphore_t done = dispatch_semaphore_create(0);
  dispatch_queue_t results = dispatch_queue_create("com.example.results", NULL);
  average_async(numbers, sizeof numbers / sizeof *numbers, results, ^(int result) {
    printf("average %d on %s\n", result, dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL));
    dispatch_semaphore_signal(done);
  });
  dispatch_release(results);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_release(done);
}
