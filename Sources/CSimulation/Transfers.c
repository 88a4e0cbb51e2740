//===- Transfers.c - reads and writes that wait -------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A transfer is tried without waiting, on the descriptor as it is. What the
// kernel would wait for is waited for in the simulation, and then it is tried
// again: for the rest, where a part of it has been done.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

// MARK: One attempt

static ssize_t read_if_ready(const struct gcs_transfer *transfer, int descriptor) {
  const struct msghdr *message = transfer->message;
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  if (__wrap_poll(&polled, 1, 0) == 0) return errno = EAGAIN, -1;
  ssize_t result = gcs_next_readv(descriptor, message->msg_iov, (int)message->msg_iovlen);
  if (transfer->place == GCS_TIMER && result == sizeof(uint64_t)) {
    // Each expiration has made it ready anew.
    uint64_t expirations = gcs_timer_take(descriptor);
    if (expirations > 0 && message->msg_iov[0].iov_len >= sizeof expirations) {
      memcpy(message->msg_iov[0].iov_base, &expirations, sizeof expirations);
    }
  }
  return result;
}

static ssize_t receive_if_ready(const struct gcs_transfer *transfer, int descriptor) {
  ssize_t result = gcs_next_recvmsg(descriptor, transfer->message, transfer->flags | MSG_DONTWAIT);
  struct pollfd polled = {.fd = descriptor, .events = POLLRDHUP};
  if (result >= 0 || errno != EAGAIN || __wrap_poll(&polled, 1, 0) == 0) return result;
  // Where no more datagrams come the kernel says so to a call alone that would wait. This one does not.
  return gcs_next_recvmsg(descriptor, transfer->message, transfer->flags);
}

/// A poll does not say how much room there is. No other thread, and no other process, sees that the descriptor does not wait meanwhile.
static ssize_t write_what_fits(const struct msghdr *message, int descriptor) {
  int flags = gcs_next_fcntl(descriptor, F_GETFL, NULL);
  gcs_next_fcntl(descriptor, F_SETFL, (void *)(intptr_t)(flags | O_NONBLOCK));
  ssize_t result = gcs_next_writev(descriptor, message->msg_iov, (int)message->msg_iovlen);
  int error = errno;
  gcs_next_fcntl(descriptor, F_SETFL, (void *)(intptr_t)flags);
  errno = error;
  return result;
}

/// A writer that has waited hears of the reader's end without SIGPIPE, as the kernel sends none to one that waits.
static ssize_t try(const struct gcs_transfer *transfer, int descriptor, bool has_waited) {
  struct msghdr *message = transfer->message;
  if (transfer->place != GCS_SOCKET) {
    return transfer->writes ? write_what_fits(message, descriptor) : read_if_ready(transfer, descriptor);
  }
  if (!transfer->writes) return receive_if_ready(transfer, descriptor);
  return gcs_next_sendmsg(descriptor, message, transfer->flags | MSG_DONTWAIT | (has_waited ? MSG_NOSIGNAL : 0));
}

// MARK: The whole

static bool is_patient(const struct gcs_transfer *transfer, int descriptor) {
  if (transfer->place == GCS_SOCKET && (transfer->flags & MSG_DONTWAIT) != 0) return false;
  return (gcs_next_fcntl(descriptor, F_GETFL, NULL) & O_NONBLOCK) == 0;
}

static int option_of(int descriptor, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : 0;
}

/// How many bytes are enough: all of a write; of a stream that is received, what the program or the socket says.
static size_t least_of(const struct gcs_transfer *transfer, int descriptor, size_t all) {
  if (transfer->writes) return transfer->place == GCS_PIPE || transfer->place == GCS_SOCKET ? all : 0;
  if (transfer->place != GCS_SOCKET || (transfer->flags & MSG_PEEK) != 0) return 0;
  if (option_of(descriptor, SO_TYPE) != SOCK_STREAM) return 0;
  size_t least = (size_t)option_of(descriptor, SO_RCVLOWAT);
  return (transfer->flags & MSG_WAITALL) != 0 || least > all ? all : least;
}

/// The instant at which the socket's time is over.
static uint64_t deadline_of(const struct gcs_transfer *transfer, int descriptor) {
  struct timeval time = {0, 0};
  socklen_t length = sizeof time;
  int option = transfer->writes ? SO_SNDTIMEO : SO_RCVTIMEO;
  if (transfer->place != GCS_SOCKET || getsockopt(descriptor, SOL_SOCKET, option, &time, &length) != 0) return UINT64_MAX;
  uint64_t nanoseconds = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
  return nanoseconds == 0 ? UINT64_MAX : gcs_now() + nanoseconds;
}

/// Leaves out so many bytes at the beginning.
static void advance(struct msghdr *message, size_t bytes) {
  while (message->msg_iovlen > 0 && bytes >= message->msg_iov->iov_len) {
    bytes -= message->msg_iov->iov_len;
    message->msg_iov += 1;
    message->msg_iovlen -= 1;
  }
  if (message->msg_iovlen > 0) {
    message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + bytes;
    message->msg_iov->iov_len -= bytes;
  }
}

/// Whether descriptors have come with a part, which is then all: the kernel puts none of two messages into one.
static bool has_rights(struct msghdr *message) {
  if ((message->msg_flags & MSG_CTRUNC) != 0) return true;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) return true;
  }
  return false;
}

static bool await(const struct gcs_transfer *transfer, struct gcs_watch *watch, uint64_t deadline) {
  char words[80];
  const char *verb = transfer->writes ? "writes to" : "reads";
  snprintf(words, sizeof words, "%s descriptor %d, %s", verb, transfer->descriptor, gcs_name_of(transfer->place));
  return gcs_watch_wait(watch, words, deadline);
}

static ssize_t run(const struct gcs_transfer *transfer, struct gcs_watch *watch) {
  const int *descriptor = &watch->polled->fd;
  bool patient = is_patient(transfer, *descriptor), has_waited = false;
  uint64_t deadline = 0;
  size_t all = 0, control = transfer->message->msg_controllen;
  ssize_t done = 0;
  for (size_t index = 0; index < transfer->message->msg_iovlen; index += 1) {
    all += transfer->message->msg_iov[index].iov_len;
  }
  size_t least = patient ? least_of(transfer, *descriptor, all) : 0;
  while (true) {
    ssize_t result = try(transfer, *descriptor, has_waited);
    if (result >= 0) {
      done += result;
      if (result == 0 || (size_t)done >= least || (!transfer->writes && has_rights(transfer->message))) break;
      gcs_descriptors_changed(false);
      advance(transfer->message, (size_t)result);
      // Descriptors go with the first byte. They may come with any.
      transfer->message->msg_controllen = transfer->writes ? 0 : control;
      continue;
    }
    int error = errno;
    // The kernel takes what has become of the socket meanwhile first: the reader has left bytes unread.
    int became = error == EPIPE && has_waited && transfer->place == GCS_SOCKET ? option_of(*descriptor, SO_ERROR) : 0;
    if (became != 0) error = became;
    if (error != EAGAIN || !patient) {
      if (error == EAGAIN) gcs_tried(error);
      return errno = error, done > 0 ? done : -1;
    }
    if (deadline == 0) deadline = deadline_of(transfer, *descriptor);
    if (!await(transfer, watch, deadline)) return errno = EAGAIN, done > 0 ? done : -1;
    has_waited = true;
  }
  gcs_descriptors_changed(transfer->is_points);
  // It may look until there is more.
  if ((transfer->flags & MSG_PEEK) != 0) gcs_tried(1);
  return done;
}

ssize_t gcs_transfer(struct gcs_transfer *transfer) {
  struct msghdr *message = transfer->message;
  struct iovec few[8], *parts = few, *theirs = message->msg_iov;
  size_t count = message->msg_iovlen, size = count * sizeof *parts;
  if (count > sizeof few / sizeof few[0] && (parts = malloc(size)) == NULL) return errno = ENOMEM, -1;
  memcpy(parts, theirs, size);
  message->msg_iov = parts;
  struct pollfd polled = {.fd = transfer->descriptor, .events = transfer->writes ? POLLOUT : POLLIN};
  struct gcs_watch watch = {
      .polled = &polled, .count = 1, .waits_for_change = transfer->writes && transfer->place == GCS_COUNTER};
  ssize_t result;
  pthread_cleanup_push(gcs_unwatch, &watch);
  result = run(transfer, &watch);
  pthread_cleanup_pop(1);
  message->msg_iov = theirs;
  message->msg_iovlen = count;
  if (parts != few) free(parts);
  return result;
}
