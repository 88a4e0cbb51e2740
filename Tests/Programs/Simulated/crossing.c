// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// An item of each of two queues waits for one of the other queue. Repaired, both begin with the same queue.

#include <dispatch/dispatch.h>
#include <stdio.h>

static dispatch_queue_t left, right;

static void nothing(void *context) { (void)context; }
static void from_left(void *context) { dispatch_sync_f(right, context, nothing); }
#ifdef REPAIRED
static void from_right(void *context) { from_left(context); }
#else
static void from_right(void *context) { dispatch_sync_f(left, context, nothing); }
#endif

int main(void) {
  left = dispatch_queue_create("left", NULL);
  right = dispatch_queue_create("right", NULL);
  dispatch_group_t both = dispatch_group_create();
  dispatch_group_async_f(both, left, NULL, from_left);
#ifdef REPAIRED
  dispatch_group_async_f(both, left, NULL, from_right);
#else
  dispatch_group_async_f(both, right, NULL, from_right);
#endif
  dispatch_group_wait(both, DISPATCH_TIME_FOREVER);
  puts("both are done");
  return 0;
}
