//===- Outside.c - what was read from outside ---------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What answers at once is no escape, and may still answer differently in the
// next run. So it is counted, by name, and told at the end.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MOST = 8, LONGEST = 64 };

/// Touched by the thread that has the turn.
static struct {
  char name[LONGEST];
  unsigned times;
} sources[MOST];

static void add(const char *name) {
  for (size_t index = 0; index < MOST; index += 1) {
    if (sources[index].times == 0) snprintf(sources[index].name, LONGEST, "%s", name);
    if (strcmp(sources[index].name, name) != 0) continue;
    sources[index].times += 1;
    return;
  }
}

static bool is_always_the_same(dev_t device) {
  return major(device) == 1 && (minor(device) == 3 || minor(device) == 5);  // /dev/null and /dev/zero
}

static void note(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return;
  switch (status.st_mode & S_IFMT) {
    case S_IFREG: case S_IFDIR: return;
    case S_IFIFO: return add("a pipe");
    case S_IFSOCK: return add("a socket");
    case S_IFCHR:
      if (is_always_the_same(status.st_rdev)) return;
  }
  char path[64], target[LONGEST];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return;
  target[length] = 0;
  add(target);
}

void gcs_note_outside(int descriptor) {
  if (!gcs_is_simulated()) return;
  int kept = errno;
  note(descriptor);
  errno = kept;
}

unsigned gcs_times_outside(unsigned index, const char **name) {
  if (index >= MOST) return 0;
  *name = sources[index].name;
  return sources[index].times;
}
