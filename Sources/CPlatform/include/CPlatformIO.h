//===- CPlatformIO.h - reading and writing descriptors ----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Vectored reads and writes in the manners that a descriptor allows. Every function returns -errno on failure, repeats
// interrupted calls, and lets no SIGPIPE through.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_IO_H
#define GC_CPLATFORM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// The layout of struct iovec.
typedef struct gc_span {
  void *start;
  size_t count;
} gc_span;

/// The manners of one call. The first is the kernel's RWF_NOWAIT.
enum {
  GC_IO_NOWAIT = 0x8,
};

/// An offset of -1 stands for the file's position, and moves it.
ssize_t gc_readv(int fd, const gc_span *spans, int count, int64_t offset, int manner);
/// For what may raise SIGPIPE, set `may_break`.
ssize_t gc_writev(int fd, const gc_span *spans, int count, int64_t offset, int manner, bool may_break);
/// Writes a message, to whatever the program has there: no signal comes of it, neither SIGPIPE nor SIGXFSZ. For handlers of signals as
/// well; errno stays as it is.
ssize_t gc_write_quietly(int fd, const void *bytes, size_t count);
ssize_t gc_receive(int fd, void *start, size_t count);
ssize_t gc_send(int fd, const gc_span *spans, int count);

typedef struct gc_descriptor_kind {
  bool is_socket;
  /// A pipe, with or without a name.
  bool is_pipe;
  /// A regular file, a folder, a block device: always ready, as far as the kernel tells.
  bool is_file;
  bool is_folder;
  bool is_nonblocking;
  /// A read that has room for less may lose the end of a message. 0 for a stream of bytes, a page for a pipe, PTRDIFF_MAX for what keeps
  /// messages of any size.
  ptrdiff_t largest_message;
  /// The negated error number if it has none.
  int64_t position;
} gc_descriptor_kind;

/// Moves the position, and returns where it is then.
int64_t gc_move_position(int fd, int64_t distance);

int gc_descriptor_describe(int fd, gc_descriptor_kind *kind);
bool gc_descriptor_is_nonblocking(int fd);
int gc_descriptor_set_nonblocking(int fd, bool on);
/// Whether two descriptors of this process stand for the same open file, so that they share its flags. Where the kernel
/// does not tell: whether they stand for the same file.
bool gc_descriptors_share(int fd, int other);
/// What stands in the way of opening the path, as far as can be told without opening it; 0 if nothing does. `seeks` says
/// whether a file there has a position.
int gc_channel_examine(const char *path, int flags, bool *seeks);
/// Opens for a channel. What is neither file nor folder is opened with O_NONBLOCK: a pipe without a writer would keep
/// the thread.
int gc_channel_open(const char *path, int flags, unsigned mode);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
