// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A queue owns its context: the finalizer frees it when the last reference to the queue is gone, and no block is pending.
//
// Prints:
//   counted 3
//   cleaned up after 3

#include <dispatch/dispatch.h>

#include "expect.h"

typedef struct {
  int *counter;
} MyDataContext;

static dispatch_semaphore_t finalized;

static void myInitializeDataContextFunction(MyDataContext *data) { data->counter = calloc(1, sizeof(int)); }

static void myCleanUpDataContextFunction(MyDataContext *data) {
  printf("cleaned up after %d\n", *data->counter);
  free(data->counter);
}

static void myFinalizerFunction(void *context) {
  MyDataContext *theData = (MyDataContext *)context;

  // First what the structure owns, then itself.
  myCleanUpDataContextFunction(theData);
  free(theData);
  dispatch_semaphore_signal(finalized);
}

static dispatch_queue_t createMyQueue(void) {
  MyDataContext *data = (MyDataContext *)malloc(sizeof(MyDataContext));
  myInitializeDataContextFunction(data);

  dispatch_queue_t serialQueue = dispatch_queue_create("com.example.CriticalTaskQueue", NULL);
  dispatch_set_context(serialQueue, data);
  dispatch_set_finalizer_f(serialQueue, &myFinalizerFunction);

  return serialQueue;
}

int main(void) {
  finalized = dispatch_semaphore_create(0);
  dispatch_queue_t queue = createMyQueue();
  MyDataContext *data = dispatch_get_context(queue);
  for (int i = 0; i < 3; i++) {
    dispatch_async(queue, ^{
      (*data->counter)++;
    });
  }
  dispatch_async(queue, ^{
    printf("counted %d\n", *data->counter);
  });
  // Blocks that are pending keep the queue.
  dispatch_release(queue);
  dispatch_semaphore_wait(finalized, DISPATCH_TIME_FOREVER);
  dispatch_release(finalized);
}
