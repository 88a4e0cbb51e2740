// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Cancelling: no handler starts any more, the one that runs finishes, and the cancel handler runs last.
//
// Prints:
//   event handler begins
//   event handler ends
//   cancel handler: the descriptor is closed

#include <dispatch/dispatch.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"

static dispatch_semaphore_t begun, cancelled, done;

static void RemoveDispatchSource(dispatch_source_t mySource) {
  dispatch_source_cancel(mySource);
  dispatch_release(mySource);
}

int main(void) {
  int ends[2];
  expect(pipe(ends) == 0);
  int fd = ends[0];
  begun = dispatch_semaphore_create(0);
  cancelled = dispatch_semaphore_create(0);
  done = dispatch_semaphore_create(0);

  dispatch_queue_t queue = dispatch_queue_create("com.example.source", NULL);
  dispatch_source_t mySource = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)fd, 0, queue);
  dispatch_source_set_event_handler(mySource, ^{
    printf("event handler begins\n");
    dispatch_semaphore_signal(begun);
    dispatch_semaphore_wait(cancelled, DISPATCH_TIME_FOREVER);
    // Nothing has been read: without the cancellation the handler would run again.
    printf("event handler ends\n");
  });
  dispatch_source_set_cancel_handler(mySource, ^{
    close(fd);
    printf("cancel handler: the descriptor is closed\n");
    dispatch_semaphore_signal(done);
  });
  dispatch_resume(mySource);
  expect(write(ends[1], "x", 1) == 1);

  dispatch_semaphore_wait(begun, DISPATCH_TIME_FOREVER);
  RemoveDispatchSource(mySource);
  dispatch_semaphore_signal(cancelled);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  // Nobody can read any more. (The number may belong to another file by now.)
  signal(SIGPIPE, SIG_IGN);
  expect(write(ends[1], "x", 1) == -1 && errno == EPIPE);
}
