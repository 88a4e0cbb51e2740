// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A signal source: its handler is an ordinary block on a queue, which may call anything.
//
// Prints:
//   SIGHUP

#include <dispatch/dispatch.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"

static void MyProcessSIGHUP(void) {
  printf("SIGHUP\n");
  exit(0);
}

static void InstallSignalHandler(void) {
  // The signal must not end the program.
  signal(SIGHUP, SIG_IGN);

  dispatch_queue_t queue = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_SIGNAL, SIGHUP, 0, queue);

  if (source) {
    dispatch_source_set_event_handler(source, ^{
      MyProcessSIGHUP();
    });
    dispatch_source_set_registration_handler(source, ^{
      kill(getpid(), SIGHUP);
    });

    dispatch_resume(source);
  }
}

int main(void) {
  InstallSignalHandler();
  dispatch_main();
}
