//===- Pressure.c - files that tell of memory pressure ----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformPressure.h"
#include "Uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int gc_pressure_open(const char *path) {
  int fd = raw_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return fd >= 0 ? fd : -errno;
}

ssize_t gc_pressure_read(int fd, void *buffer, size_t count) {
  for (;;) {
    ssize_t bytes = raw_pread(fd, buffer, count, 0);
    if (bytes >= 0) return bytes;
    if (errno != EINTR) return -errno;
  }
}
