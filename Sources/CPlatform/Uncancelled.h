// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// System calls by which no thread ends. The C library's functions of these names are cancellation points: a thread that `pthread_cancel` has
// marked would leave in the midst of what the library does for it, with a worker half woken or a lock held. Here the cancellation waits until
// the thread is back in the program.

#ifndef GC_UNCANCELLED_H
#define GC_UNCANCELLED_H

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The simulation stands in for the C library's names, cancellation included, and looks at what the library does by them.
#ifdef GRANDCENTRAL_SIMULATION
#define RAW(named, ...) named
#else
#define RAW(named, ...) syscall(__VA_ARGS__)
#endif

static inline int raw_open(const char *path, int flags) {
  return (int)RAW(open(path, flags), SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int raw_close(int fd) { return (int)RAW(close(fd), SYS_close, fd); }

static inline ssize_t raw_read(int fd, void *bytes, size_t count) {
  return RAW(read(fd, bytes, count), SYS_read, fd, bytes, count);
}

static inline ssize_t raw_write(int fd, const void *bytes, size_t count) {
  return RAW(write(fd, bytes, count), SYS_write, fd, bytes, count);
}

static inline ssize_t raw_pread(int fd, void *bytes, size_t count, off_t offset) {
  return RAW(pread(fd, bytes, count, offset), SYS_pread64, fd, bytes, count, offset);
}

static inline ssize_t raw_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return RAW(pwrite(fd, bytes, count, offset), SYS_pwrite64, fd, bytes, count, offset);
}

static inline ssize_t raw_send(int fd, const void *bytes, size_t count) {
  return RAW(send(fd, bytes, count, 0), SYS_sendto, fd, bytes, count, 0, NULL, 0);
}

static inline ssize_t raw_receive(int fd, void *bytes, size_t count, struct sockaddr *sender, socklen_t *length) {
  return RAW(recvfrom(fd, bytes, count, 0, sender, length), SYS_recvfrom, fd, bytes, count, 0, sender, length);
}

static inline int raw_waitid(idtype_t kind, id_t which, siginfo_t *info, int options) {
  return (int)RAW(waitid(kind, which, info, options), SYS_waitid, kind, which, info, options, NULL);
}

/// Whether something is ready: as `poll` without a wait.
static inline int raw_poll(struct pollfd *entries, nfds_t count) {
  return (int)RAW(poll(entries, count, 0), SYS_ppoll, entries, count, &(struct timespec){0, 0}, NULL, 0);
}

/// Where the kernel has a call of this name, a filter may let that one pass and refuse `epoll_pwait`.
static inline int raw_epoll_wait(int epfd, struct epoll_event *events, int capacity, int milliseconds) {
#ifdef SYS_epoll_wait
  return (int)RAW(epoll_wait(epfd, events, capacity, milliseconds), SYS_epoll_wait, epfd, events, capacity, milliseconds);
#else
  return (int)RAW(epoll_wait(epfd, events, capacity, milliseconds), SYS_epoll_pwait, epfd, events, capacity, milliseconds, NULL, 0);
#endif
}

static inline int raw_nanosleep(const struct timespec *time, struct timespec *rest) {
  return (int)RAW(nanosleep(time, rest), SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, time, rest);
}

#undef RAW

#endif
