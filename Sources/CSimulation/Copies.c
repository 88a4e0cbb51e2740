//===- Copies.c - numbers of descriptors come and go --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What has been made is known by what it is (Inside.c). Only timers, and
// threads that wait, know descriptors by their numbers.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <unistd.h>

static GCS_REAL(int, dup, (int descriptor), (descriptor))
static GCS_REAL(int, dup2, (int descriptor, int number), (descriptor, number))
static GCS_REAL(int, dup3, (int descriptor, int number, int flags), (descriptor, number, flags))
static GCS_REAL(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags))
static GCS_REAL(int, shutdown, (int descriptor, int how), (descriptor, how))

/// `copy` is a number of the same from now on, or the negative answer.
static int copied(int descriptor, int copy) {
  if (copy >= 0 && gcs_is_simulated()) gcs_timer_copied(descriptor, copy);
  return copy;
}

int dup(int descriptor) { return copied(descriptor, __wrap_dup(descriptor)); }

static bool is_open(int descriptor) { return gcs_next_fcntl(descriptor, F_GETFD, NULL) >= 0; }

/// The number is another one's from the next step on.
static void make_room(int descriptor, int number) {
  if (gcs_is_simulated() && descriptor != number && is_open(descriptor)) gcs_number_goes(number);
}

/// What had the number may have been the last of its kind.
static int replaced(int descriptor, int copy, bool is_points) {
  copied(descriptor, copy);
  if (copy >= 0) gcs_descriptors_changed(is_points);
  return copy;
}

int dup2(int descriptor, int number) {
  GCS_PLACE(number);
  make_room(descriptor, number);
  return replaced(descriptor, __wrap_dup2(descriptor, number), is_points);
}

int dup3(int descriptor, int number, int flags) {
  GCS_PLACE(number);
  if ((flags & ~O_CLOEXEC) == 0) make_room(descriptor, number);
  return replaced(descriptor, __wrap_dup3(descriptor, number, flags), is_points);
}

static int control(int descriptor, int command, void *argument) {
  int result = gcs_next_fcntl(descriptor, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return copied(descriptor, result);
  // More room may be what a writer waits for.
  if (command == F_SETPIPE_SZ && result >= 0) gcs_descriptors_changed(false);
  return result;
}

int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return control(descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return control(descriptor, command, argument);
}

// MARK: Closing

int close(int descriptor) {
  if (!gcs_is_simulated()) return gcs_next_close(descriptor);
  // Whatever it is, or is no more: another thread may have been given the number.
  bool is_points = gcs_is_in_program(__builtin_return_address(0));
  if (is_points) gcs_descriptor_point();
  gcs_number_goes(descriptor);
  int result = gcs_next_close(descriptor);
  gcs_descriptors_changed(is_points);
  return result;
}

static unsigned first_closed, last_closed;

static void go_if_closed(int descriptor) {
  if ((unsigned)descriptor >= first_closed && (unsigned)descriptor <= last_closed) gcs_number_goes(descriptor);
}

int close_range(unsigned first, unsigned last, int flags) {
  bool closes = gcs_is_simulated() && (flags & CLOSE_RANGE_CLOEXEC) == 0;
  if (closes) {
    first_closed = first;
    last_closed = last;
    gcs_for_each_descriptor(go_if_closed);
  }
  int result = __wrap_close_range(first, last, flags);
  if (closes) gcs_descriptors_changed(false);
  return result;
}

void closefrom(int first) { close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0); }

int shutdown(int descriptor, int how) {
  GCS_PLACE(descriptor);
  int result = __wrap_shutdown(descriptor, how);
  if (place == GCS_SOCKET) gcs_descriptors_changed(is_points);
  return result;
}
