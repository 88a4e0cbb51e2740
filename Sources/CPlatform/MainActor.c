//===- MainActor.c - the toolchain's own main queue -------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformMainActor.h"

#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

// The calls that run loops use: the library exports them for Foundation's.
int gc_foreign_main_handle(void) {
  int (*handle)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_dispatch_get_main_queue_handle_4CF");
  return handle != NULL ? handle() : -1;
}

void gc_foreign_main_drain(int handle) {
  void (*drain)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_dispatch_main_queue_callback_4CF");
  if (drain == NULL) return;
  uint64_t count;
  struct pollfd entry = {.fd = handle, .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, 0) > 0 && read(handle, &count, sizeof count) < 0) return;
  drain(NULL);
}
