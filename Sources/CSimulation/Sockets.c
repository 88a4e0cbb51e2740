//===- Sockets.c - receive and send -------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// By socket pairs that are inside. What has an address goes elsewhere.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

static GCS_REAL(
    ssize_t, recvfrom,
    (int descriptor, void *bytes, size_t count, int flags, struct sockaddr *address, socklen_t *length),
    (descriptor, bytes, count, flags, address, length))
static GCS_REAL(
    ssize_t, sendto,
    (int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *address, socklen_t length),
    (descriptor, bytes, count, flags, address, length))

_Noreturn void __chk_fail(void);

static ssize_t move(int descriptor, bool writes, struct msghdr *message, int flags, bool is_points) {
  struct gcs_transfer transfer = {
      .descriptor = descriptor, .place = GCS_SOCKET, .writes = writes, .is_points = is_points,
      .flags = flags, .message = message};
  return gcs_transfer(&transfer);
}

// MARK: Receiving

static ssize_t receive(
    int descriptor, void *bytes, size_t count, int flags, struct sockaddr *address, socklen_t *length, bool is_points) {
  struct iovec part = {bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_name = address};
  if (address != NULL && length != NULL) message.msg_namelen = *length;
  ssize_t result = move(descriptor, false, &message, flags, is_points);
  if (result >= 0 && address != NULL && length != NULL) *length = message.msg_namelen;
  return result;
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET) {
    if (place == GCS_OUTSIDE) gcs_note_outside(descriptor);
    return gcs_next_recv(descriptor, bytes, count, flags);
  }
  return receive(descriptor, bytes, count, flags, NULL, NULL, is_points);
}

ssize_t __recv_chk(int descriptor, void *bytes, size_t count, size_t room, int flags) {
  if (count > room) __chk_fail();
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET) {
    if (place == GCS_OUTSIDE) gcs_note_outside(descriptor);
    return gcs_next_recv(descriptor, bytes, count, flags);
  }
  return receive(descriptor, bytes, count, flags, NULL, NULL, is_points);
}

ssize_t recvfrom(
    int descriptor, void *restrict bytes, size_t count, int flags, struct sockaddr *restrict address,
    socklen_t *restrict length) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET) {
    if (place == GCS_OUTSIDE) gcs_note_outside(descriptor);
    return __wrap_recvfrom(descriptor, bytes, count, flags, address, length);
  }
  return receive(descriptor, bytes, count, flags, address, length, is_points);
}

ssize_t __recvfrom_chk(
    int descriptor, void *restrict bytes, size_t count, size_t room, int flags, struct sockaddr *restrict address,
    socklen_t *restrict length) {
  if (count > room) __chk_fail();
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET) {
    if (place == GCS_OUTSIDE) gcs_note_outside(descriptor);
    return __wrap_recvfrom(descriptor, bytes, count, flags, address, length);
  }
  return receive(descriptor, bytes, count, flags, address, length, is_points);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET || message->msg_iovlen > IOV_MAX) {
    if (place == GCS_OUTSIDE) gcs_note_outside(descriptor);
    return gcs_next_recvmsg(descriptor, message, flags);
  }
  return move(descriptor, false, message, flags, is_points);
}

// MARK: Sending

/// Descriptors that a message has with it leave the process.
static void let_go_with(const struct msghdr *message) {
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR((struct msghdr *)message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < count; index += 1) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(part) + index * sizeof descriptor, sizeof descriptor);
      gcs_let_go(descriptor);
    }
  }
}

static ssize_t send_inside(int descriptor, const void *bytes, size_t count, int flags, bool is_points) {
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return move(descriptor, true, &message, flags, is_points);
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET) return gcs_next_send(descriptor, bytes, count, flags);
  return send_inside(descriptor, bytes, count, flags, is_points);
}

ssize_t sendto(
    int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *address, socklen_t length) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET || address != NULL) {
    return __wrap_sendto(descriptor, bytes, count, flags, address, length);
  }
  return send_inside(descriptor, bytes, count, flags, is_points);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
  GCS_PLACE(descriptor);
  if (place != GCS_SOCKET || message->msg_name != NULL || message->msg_iovlen > IOV_MAX) {
    if (gcs_is_simulated()) let_go_with(message);
    return gcs_next_sendmsg(descriptor, message, flags);
  }
  if (message->msg_controllen > 0) gcs_keep_closed();
  struct msghdr copy = *message;
  return move(descriptor, true, &copy, flags, is_points);
}
