//===- Next.c - the C library's transfers -------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the library itself reads and writes ends up here (--wrap): threads of
// the program may wait for that.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#define NEXT(result, name, parameters, arguments) GCS_NEXT(result, gcs_next_##name, name, parameters, arguments)

#define NEXT_AND_WRAP(result, name, parameters, arguments)                               \
  NEXT(result, name, parameters, arguments)                                              \
  result __wrap_##name parameters {                                                      \
    result value = gcs_next_##name arguments;                                            \
    if (value >= 0) gcs_descriptors_changed(false);                                      \
    return value;                                                                        \
  }

NEXT_AND_WRAP(ssize_t, read, (int descriptor, void *bytes, size_t count), (descriptor, bytes, count))
NEXT_AND_WRAP(ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
NEXT_AND_WRAP(
    ssize_t, preadv2, (int descriptor, const struct iovec *parts, int count, off_t offset, int flags),
    (descriptor, parts, count, offset, flags))
NEXT_AND_WRAP(
    ssize_t, pwritev2, (int descriptor, const struct iovec *parts, int count, off_t offset, int flags),
    (descriptor, parts, count, offset, flags))
NEXT_AND_WRAP(ssize_t, recv, (int descriptor, void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
NEXT_AND_WRAP(
    ssize_t, send, (int descriptor, const void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
NEXT_AND_WRAP(
    ssize_t, sendmsg, (int descriptor, const struct msghdr *message, int flags), (descriptor, message, flags))
NEXT(ssize_t, readv, (int descriptor, const struct iovec *parts, int count), (descriptor, parts, count))
NEXT(ssize_t, writev, (int descriptor, const struct iovec *parts, int count), (descriptor, parts, count))
NEXT(ssize_t, recvmsg, (int descriptor, struct msghdr *message, int flags), (descriptor, message, flags))
NEXT(int, close, (int descriptor), (descriptor))

int gcs_next_fcntl(int descriptor, int command, void *argument) {
  static int (*known)(int, int, ...);
  int (*function)(int, int, ...) = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (function == NULL) {
    function = (int (*)(int, int, ...))gcs_real("fcntl");
    __atomic_store_n(&known, function, __ATOMIC_RELAXED);
  }
  return function(descriptor, command, argument);
}
