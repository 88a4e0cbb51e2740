// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// System calls by which no thread ends. The C library's functions of these names are cancellation points: a thread that `pthread_cancel` has
// marked would leave in the midst of what the library does for it, with a worker half woken or a lock held. Here the cancellation waits until
// the thread is back in the program.

#ifndef GC_UNCANCELLED_H
#define GC_UNCANCELLED_H

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int raw_open(const char *path, int flags) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0); }

static inline int raw_close(int fd) { return (int)syscall(SYS_close, fd); }

static inline ssize_t raw_read(int fd, void *bytes, size_t count) { return syscall(SYS_read, fd, bytes, count); }

static inline ssize_t raw_write(int fd, const void *bytes, size_t count) { return syscall(SYS_write, fd, bytes, count); }

static inline ssize_t raw_pread(int fd, void *bytes, size_t count, off_t offset) {
  return syscall(SYS_pread64, fd, bytes, count, offset);
}

static inline ssize_t raw_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

/// Whether the kernel says at once that something is ready: as `poll` without a wait.
static inline int raw_poll(struct pollfd *entries, nfds_t count) {
  struct timespec none = {0, 0};
  return (int)syscall(SYS_ppoll, entries, count, &none, NULL, 0);
}

static inline int raw_nanosleep(const struct timespec *time, struct timespec *rest) {
  return (int)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, time, rest);
}

#endif
