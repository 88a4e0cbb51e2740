//===- FaultyCalls.c - reads and writes that go wrong -----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "FaultyCalls.h"

#define MOST_SPANS 64
#define NOWAIT 0x8

static _Atomic uint32_t interrupted, again, shortened, unsupported, full;
static _Atomic uint64_t state, count;

void gc_faults_set(gc_faults faults, uint64_t seed) {
  interrupted = faults.interrupted;
  again = faults.again;
  shortened = faults.shortened;
  unsupported = faults.unsupported;
  full = faults.full;
  state = seed;
}

uint64_t gc_faults_count(void) { return count; }

// SplitMix64: one draw for each call of each thread.
static uint64_t draw(void) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

static bool one_in(uint32_t bound) {
  if (bound == 0 || draw() % bound != 0) return false;
  count++;
  return true;
}

// The error that a call ends with, or 0.
static int chance(bool must_not_wait, bool writes) {
  if (one_in(interrupted)) return EINTR;
  if (must_not_wait && one_in(again)) return EAGAIN;
  if (writes && one_in(full)) return ENOSPC;
  return 0;
}

// Fewer spans, and less of the last one: at least a byte.
static int shorten(struct iovec *to, const struct iovec *from, int spans) {
  if (spans > MOST_SPANS) spans = MOST_SPANS;
  memcpy(to, from, sizeof *to * (size_t)spans);
  if (spans == 0 || !one_in(shortened)) return spans;
  int left = 1 + (int)(draw() % (uint64_t)spans);
  size_t length = to[left - 1].iov_len;
  if (length > 0) to[left - 1].iov_len = 1 + draw() % length;
  return left;
}

static ssize_t transfer(long number, bool writes, int fd, const struct iovec *from, int spans, off_t offset, int flags) {
  bool must_not_wait = (flags & NOWAIT) != 0;
  int error = chance(must_not_wait, writes);
  if (error == 0 && must_not_wait && one_in(unsupported)) error = EOPNOTSUPP;
  if (error != 0) {
    errno = error;
    return -1;
  }
  struct iovec to[MOST_SPANS];
  spans = shorten(to, from, spans);
  // The offset's low half comes first, the high one, which 64-bit kernels ignore, after it.
  return syscall(number, fd, to, spans, offset, 0, flags);
}

ssize_t preadv2(int fd, const struct iovec *spans, int n, off_t offset, int flags) {
  return transfer(SYS_preadv2, false, fd, spans, n, offset, flags);
}

ssize_t pwritev2(int fd, const struct iovec *spans, int n, off_t offset, int flags) {
  return transfer(SYS_pwritev2, true, fd, spans, n, offset, flags);
}

// Linux never sends a part of a message; and what a shorter read leaves of one is lost.
static bool is_of_messages(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type != SOCK_STREAM;
}

ssize_t recv(int fd, void *start, size_t length, int flags) {
  int error = chance((flags & MSG_DONTWAIT) != 0, false);
  if (error != 0) {
    errno = error;
    return -1;
  }
  if (length > 1 && !is_of_messages(fd) && one_in(shortened)) length = 1 + draw() % length;
  return syscall(SYS_recvfrom, fd, start, length, flags, NULL, NULL);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  int error = chance((flags & MSG_DONTWAIT) != 0, true);
  if (error != 0) {
    errno = error;
    return -1;
  }
  if (is_of_messages(fd)) return syscall(SYS_sendmsg, fd, message, flags);
  struct iovec to[MOST_SPANS];
  struct msghdr shorter = *message;
  shorter.msg_iovlen = (size_t)shorten(to, message->msg_iov, (int)message->msg_iovlen);
  shorter.msg_iov = to;
  return syscall(SYS_sendmsg, fd, &shorter, flags);
}
