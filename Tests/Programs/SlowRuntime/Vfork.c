// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE 1
#include "SlowRuntime.h"

#include <signal.h>
#include <unistd.h>

int gc_test_vfork(int ignored, char *const arguments[]) {
  pid_t child = vfork();
  if (child != 0) return child;
  signal(ignored, SIG_IGN);
  execv(arguments[0], arguments);
  _exit(127);
}
