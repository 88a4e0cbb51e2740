// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// errno belongs to a thread, and a block may run on another one than the caller's: the block brings the value back.
//
// Prints:
//   kill(1, 0) returned what it should, and errno is the block's

#include <dispatch/dispatch.h>
#include <errno.h>
#include <signal.h>

#include "expect.h"

int main(void) {
  dispatch_queue_t queue = dispatch_queue_create("com.example.calls", NULL);
  __block int r;
  __block int e;
  errno = 0;
  dispatch_sync(queue, ^{
    errno = 0;
    r = kill(1, 0);
    // The value of this thread, to be seen on the other one.
    e = errno;
  });
  // 0 for a caller that may signal the process, and else a reason.
  expect(r == 0 ? e == 0 : e == EPERM || e == ESRCH);

  // One that fails for everyone.
  dispatch_async(queue, ^{
    errno = 0;
    r = kill(1, 12345);
    e = errno;
  });
  errno = 0;
  dispatch_sync(queue, ^{
  });
  expect(r == -1 && e == EINVAL);
  printf("kill(1, 0) returned what it should, and errno is the block's\n");
  dispatch_release(queue);
}
