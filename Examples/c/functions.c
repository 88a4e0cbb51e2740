// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Without blocks: each function has a variant that takes a function and its context. Any C compiler will do.
//
// Prints:
//   1000 additions on a queue, 332833500 as the sum of squares

#include <dispatch/dispatch.h>

#include "expect.h"

struct sums {
  long squares[1000];
  long total;
};

static void square(void *context, size_t index) {
  struct sums *sums = context;
  sums->squares[index] = (long)(index * index);
}

static long additions;

static void add(void *context) {
  struct sums *sums = context;
  sums->total += sums->squares[additions++];
}

int main(void) {
  static struct sums sums;
  dispatch_apply_f(1000, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), &sums, square);
  dispatch_queue_t queue = dispatch_queue_create("com.example.sums", NULL);
  dispatch_group_t group = dispatch_group_create();
  for (int i = 0; i < 1000; i++) dispatch_group_async_f(group, queue, &sums, add);
  expect(dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 20 * (int64_t)NSEC_PER_SEC)) == 0);
  printf("%ld additions on a queue, %ld as the sum of squares\n", additions, sums.total);
  dispatch_release(group);
  dispatch_release(queue);
}
