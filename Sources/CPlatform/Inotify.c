//===- Inotify.c - watching files by their inode ----------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "CPlatform.h"
#include "CPlatformFiles.h"

_Static_assert(
    GC_IN_MODIFY == IN_MODIFY && GC_IN_ATTRIB == IN_ATTRIB && GC_IN_MOVED_FROM == IN_MOVED_FROM &&
        GC_IN_MOVED_TO == IN_MOVED_TO && GC_IN_CREATE == IN_CREATE && GC_IN_DELETE == IN_DELETE &&
        GC_IN_MOVE_SELF == IN_MOVE_SELF && GC_IN_UNMOUNT == IN_UNMOUNT && GC_IN_Q_OVERFLOW == IN_Q_OVERFLOW &&
        GC_IN_IGNORED == IN_IGNORED,
    "the header repeats the kernel's numbers");

int gc_inotify_create(void) {
  int result = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  return result < 0 ? -errno : gc_above_standard(result);
}

int gc_inotify_add(int inotify, int file, bool parent, uint32_t events) {
  // The magic link leads to the open file itself, whatever its name is by now.
  char path[48];
  snprintf(path, sizeof path, parent ? "/proc/self/fd/%d/.." : "/proc/self/fd/%d", file);
  int result = inotify_add_watch(inotify, path, events | IN_MASK_ADD);
  return result < 0 ? -errno : result;
}

int gc_inotify_remove(int inotify, int watch) { return inotify_rm_watch(inotify, watch) < 0 ? -errno : 0; }

int gc_file_status_of(int fd, gc_file_status *status) {
  struct stat found;
  if (fstat(fd, &found) != 0) return -errno;
  *status = (gc_file_status){
      .device = found.st_dev,
      .inode = found.st_ino,
      .size = (uint64_t)found.st_size,
      .links = found.st_nlink,
      .is_directory = S_ISDIR(found.st_mode),
      .is_regular = S_ISREG(found.st_mode),
  };
  return 0;
}
