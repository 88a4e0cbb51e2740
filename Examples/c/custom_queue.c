// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A serial queue: it runs one block at a time, in the order of their submission.
//
// Prints, in any order:
//   Do some work here.
//   The first block may or may not have run.
//   Do some more work here.
//   Both blocks have completed.

#include <dispatch/dispatch.h>
#include <string.h>

#include "expect.h"

int main(void) {
  dispatch_queue_t queue;
  queue = dispatch_queue_create("com.example.MyQueue", NULL);
  expect(strcmp(dispatch_queue_get_label(queue), "com.example.MyQueue") == 0);
  dispatch_release(queue);

  dispatch_queue_t aQueue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  expect(aQueue != NULL && aQueue != dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_HIGH, 0));

  dispatch_queue_t myCustomQueue;
  myCustomQueue = dispatch_queue_create("com.example.MyCustomQueue", NULL);
  __block int blocks = 0;

  dispatch_async(myCustomQueue, ^{
    printf("Do some work here.\n");
    expect(++blocks == 1);
  });

  printf("The first block may or may not have run.\n");

  dispatch_sync(myCustomQueue, ^{
    printf("Do some more work here.\n");
    expect(++blocks == 2);
  });
  printf("Both blocks have completed.\n");
  expect(blocks == 2);
  dispatch_release(myCustomQueue);
}
