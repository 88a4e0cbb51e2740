// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A child that watches its parent, and ends when the parent has ended.
//
// Prints:
//   the child works
//   the child ends after its parent

#include <dispatch/dispatch.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static dispatch_semaphore_t exitFlag;

static void MySetAppExitFlag(void) { dispatch_semaphore_signal(exitFlag); }

static void MonitorParentProcess(dispatch_block_t isWatching) {
  pid_t parentPID = getppid();

  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_source_t source =
      dispatch_source_create(DISPATCH_SOURCE_TYPE_PROC, (uintptr_t)parentPID, DISPATCH_PROC_EXIT, queue);
  if (source) {
    dispatch_source_set_event_handler(source, ^{
      MySetAppExitFlag();
      dispatch_source_cancel(source);
      dispatch_release(source);
    });
    dispatch_source_set_registration_handler(source, isWatching);
    dispatch_resume(source);
  }
}

static void child(int parent) {
  exitFlag = dispatch_semaphore_create(0);
  MonitorParentProcess(^{
    printf("the child works\n");
    fflush(stdout);
    // The parent may end now.
    expect(write(parent, "", 1) == 1);
  });
  dispatch_semaphore_wait(exitFlag, DISPATCH_TIME_FOREVER);
  printf("the child ends after its parent\n");
  exit(0);
}

int main(void) {
  int parent[2], end[2];
  char byte;
  expect(pipe(parent) == 0 && pipe(end) == 0);
  pid_t process = fork();
  if (process == 0) {
    // This one is the parent.
    close(end[0]);
    if (fork() == 0) child(parent[1]);
    expect(read(parent[0], &byte, 1) == 1);
    _exit(0);
  }
  close(end[1]);
  expect(waitpid(process, NULL, 0) == process);
  // The last process that holds the other end is the child.
  expect(read(end[0], &byte, 1) == 0);
}
