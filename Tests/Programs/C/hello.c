// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The smallest program with a queue. Prints the kilobytes that are resident at its end.

#include <dispatch/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(void *done) { *(int *)done = 1; }

int main(void) {
  int done = 0;
  dispatch_queue_t queue = dispatch_queue_create("hello", DISPATCH_QUEUE_SERIAL);
  dispatch_async_f(queue, &done, say);
  dispatch_sync_f(queue, &done, say);
  dispatch_release(queue);
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  while (status && fgets(line, sizeof line, status)) {
    if (strncmp(line, "VmRSS:", 6) == 0) printf("%d\n", atoi(line + 6));
  }
  return !done;
}
