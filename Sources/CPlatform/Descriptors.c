//===- Descriptors.c - questions about descriptors --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "CPlatform.h"
#include "Uncancelled.h"

int gc_poll(int fd, uint32_t events) {
  // The epoll bits of these names have poll's values.
  struct pollfd query = {.fd = fd, .events = (short)events};
  int count = raw_poll(&query, 1);
  return count > 0 ? query.revents : 0;
}

int gc_above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  raw_close(fd);
  return higher >= 0 ? higher : -error;
}

bool gc_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

bool gc_file_identity(int fd, uint64_t *device, uint64_t *inode, uint64_t *birth) {
#ifdef STATX_BTIME
  struct statx known;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &known) == 0) {
    *device = (uint64_t)known.stx_dev_major << 32 | known.stx_dev_minor;
    *inode = known.stx_ino;
    bool is_told = (known.stx_mask & STATX_BTIME) != 0;
    *birth = is_told ? (uint64_t)known.stx_btime.tv_sec * 1000000000u + known.stx_btime.tv_nsec : 0;
    return true;
  }
#endif
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  *device = status.st_dev;
  *inode = status.st_ino;
  *birth = 0;
  return true;
}

ssize_t gc_bytes_left(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  off_t position = lseek(fd, 0, SEEK_CUR);
  return position >= 0 && position < status.st_size ? status.st_size - position : 0;
}

ssize_t gc_bytes_to_read(int fd) {
  int count = 0;
  return ioctl(fd, FIONREAD, &count) == 0 && count > 0 ? count : 0;
}

ssize_t gc_room_to_write(int fd) {
  int size = 0, used = 0;
  socklen_t length = sizeof size;
  if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0) {
    if (ioctl(fd, SIOCOUTQ, &used) != 0) used = 0;
    return size > used ? size - used : 0;
  }
  size = fcntl(fd, F_GETPIPE_SZ);
  if (size > 0) {
    if (ioctl(fd, FIONREAD, &used) != 0) used = 0;
    return size > used ? size - used : 0;
  }
  return 0;
}
