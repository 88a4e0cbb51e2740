//===- Pipes.c - read and write -----------------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Of descriptors that are inside. All others are read and written as ever.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

_Noreturn void __chk_fail(void);

static size_t size_of(const struct iovec *parts, int count) {
  size_t size = 0;
  for (int index = 0; index < count; index += 1) size += parts[index].iov_len;
  return size;
}

/// What the kernel says no to, and what it does at once.
static bool needs_no_wait(int descriptor, enum gcs_place place, bool writes, const struct iovec *parts, int count) {
  if (!gcs_transfers(place) || count <= 0 || count > IOV_MAX) return true;
  size_t size = size_of(parts, count);
  if (size == 0 || size > SSIZE_MAX) return true;
  if (place == GCS_COUNTER || place == GCS_TIMER) return size < sizeof(uint64_t) || (writes && place == GCS_TIMER);
  int mode = gcs_next_fcntl(descriptor, F_GETFL, NULL) & O_ACCMODE;
  return mode == (writes ? O_RDONLY : O_WRONLY);
}

static ssize_t move(
    int descriptor, enum gcs_place place, bool writes, const struct iovec *parts, int count, bool is_points) {
  if (needs_no_wait(descriptor, place, writes, parts, count)) {
    return writes ? gcs_next_writev(descriptor, parts, count) : gcs_next_readv(descriptor, parts, count);
  }
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
  struct gcs_transfer transfer = {
      .descriptor = descriptor, .place = place, .writes = writes, .is_points = is_points, .message = &message};
  return gcs_transfer(&transfer);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
  GCS_PLACE(descriptor);
  if (place == GCS_OUTSIDE) return gcs_note_outside(descriptor), gcs_next_read(descriptor, bytes, count);
  return move(descriptor, place, false, &(struct iovec){bytes, count}, 1, is_points);
}

ssize_t __read_chk(int descriptor, void *bytes, size_t count, size_t room) {
  if (count > room) __chk_fail();
  GCS_PLACE(descriptor);
  if (place == GCS_OUTSIDE) return gcs_note_outside(descriptor), gcs_next_read(descriptor, bytes, count);
  return move(descriptor, place, false, &(struct iovec){bytes, count}, 1, is_points);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  GCS_PLACE(descriptor);
  if (place == GCS_OUTSIDE) return gcs_next_write(descriptor, bytes, count);
  return move(descriptor, place, true, &(struct iovec){(void *)bytes, count}, 1, is_points);
}

ssize_t readv(int descriptor, const struct iovec *parts, int count) {
  GCS_PLACE(descriptor);
  if (place == GCS_OUTSIDE) return gcs_note_outside(descriptor), gcs_next_readv(descriptor, parts, count);
  return move(descriptor, place, false, parts, count, is_points);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  GCS_PLACE(descriptor);
  if (place == GCS_OUTSIDE) return gcs_next_writev(descriptor, parts, count);
  return move(descriptor, place, true, parts, count, is_points);
}

// The C library has these call its own.

int eventfd_read(int descriptor, eventfd_t *value) {
  GCS_PLACE(descriptor);
  struct iovec part = {value, sizeof *value};
  ssize_t result = place == GCS_OUTSIDE ? gcs_next_readv(descriptor, &part, 1)
                                        : move(descriptor, place, false, &part, 1, is_points);
  return result == sizeof *value ? 0 : -1;
}

int eventfd_write(int descriptor, eventfd_t value) {
  GCS_PLACE(descriptor);
  struct iovec part = {&value, sizeof value};
  ssize_t result = place == GCS_OUTSIDE ? gcs_next_writev(descriptor, &part, 1)
                                        : move(descriptor, place, true, &part, 1, is_points);
  return result == sizeof value ? 0 : -1;
}

// MARK: How much there is to be read

static int ask(int descriptor, unsigned long request, void *argument) {
  static int (*known)(int, unsigned long, ...);
  int (*function)(int, unsigned long, ...) = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (function == NULL) {
    function = (int (*)(int, unsigned long, ...))gcs_real("ioctl");
    __atomic_store_n(&known, function, __ATOMIC_RELAXED);
  }
  return function(descriptor, request, argument);
}

int ioctl(int descriptor, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (request != FIONREAD) return ask(descriptor, request, argument);
  GCS_PLACE(descriptor);
  int result = ask(descriptor, request, argument);
  // A look, which does not wait.
  if (place != GCS_OUTSIDE) gcs_tried(1);
  return result;
}
