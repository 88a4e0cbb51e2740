//===- CPlatformFiles.h - watching files by their inode ---------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// inotify, and what fstat knows. Every function returns -errno on failure.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_FILES_H
#define GC_CPLATFORM_FILES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// A descriptor that is not inherited by programs and does not block.
int gc_inotify_create(void);
/// Adds `events` to what is watched of the file that `file` is open on, or of the folder that it lies in. Returns the
/// watch's number, the same one for the same inode.
int gc_inotify_add(int inotify, int file, bool parent, uint32_t events);
int gc_inotify_remove(int inotify, int watch);

typedef struct gc_file_status {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  uint64_t links;
  bool is_directory;
  bool is_regular;
} gc_file_status;

int gc_file_status_of(int fd, gc_file_status *status);

enum {
  GC_IN_MODIFY = 0x002,
  GC_IN_ATTRIB = 0x004,
  GC_IN_MOVED_FROM = 0x040,
  GC_IN_MOVED_TO = 0x080,
  GC_IN_CREATE = 0x100,
  GC_IN_DELETE = 0x200,
  GC_IN_MOVE_SELF = 0x800,
  GC_IN_UNMOUNT = 0x2000,
  GC_IN_Q_OVERFLOW = 0x4000,
  GC_IN_IGNORED = 0x8000,
};

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
