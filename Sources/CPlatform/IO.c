//===- IO.c - reading and writing descriptors -------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "CPlatformIO.h"
#include "Uncancelled.h"

_Static_assert(sizeof(gc_span) == sizeof(struct iovec) && offsetof(gc_span, start) == offsetof(struct iovec, iov_base) &&
                   offsetof(gc_span, count) == offsetof(struct iovec, iov_len),
               "spans are handed to the kernel as they are");
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x8
#endif
_Static_assert(GC_IO_NOWAIT == RWF_NOWAIT, "the header repeats the kernel's number");

#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100
#endif

#if defined(__GLIBC__)
#define read_parts preadv2
#define write_parts pwritev2
#else
// By number: musl has them only from 1.2.5 on. The kernel takes an offset in two words, of which the second is for machines of 32 bits. Where
// there is no such call, the older ones do what glibc has them do.
static bool is_missing(ssize_t result) { return result < 0 && errno == ENOSYS; }

static ssize_t refuse_manner(void) {
  errno = EOPNOTSUPP;
  return -1;
}

static ssize_t read_parts(int fd, const struct iovec *parts, int count, off_t offset, int manner) {
  ssize_t r = syscall(SYS_preadv2, fd, parts, (long)count, offset, 0L, (long)manner);
  if (!is_missing(r)) return r;
  if (manner != 0) return refuse_manner();
  return offset < 0 ? readv(fd, parts, count) : preadv(fd, parts, count, offset);
}

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset, int manner) {
  ssize_t r = syscall(SYS_pwritev2, fd, parts, (long)count, offset, 0L, (long)manner);
  if (!is_missing(r)) return r;
  if (manner != 0) return refuse_manner();
  return offset < 0 ? writev(fd, parts, count) : pwritev(fd, parts, count, offset);
}
#endif

// Whether a file that says its end may have more: Linux 5.9 and 5.10 say so as well where what comes next is not in memory, if they must not
// wait for it (readv(2), BUGS).
static bool may_have_more(int fd) {
  static atomic_int known; // 0 before the first look, 1 for a kernel that says what is so
  // relaxed: each thread that looks finds the same.
  int says = atomic_load_explicit(&known, memory_order_relaxed);
  if (says == 0) {
    struct utsname kernel;
    bool is_early = uname(&kernel) == 0 && (strncmp(kernel.release, "5.9.", 4) == 0 || strncmp(kernel.release, "5.10.", 5) == 0);
    says = is_early ? 2 : 1;
    // relaxed: as above.
    atomic_store_explicit(&known, says, memory_order_relaxed);
  }
  struct stat file;
  return says == 2 && fstat(fd, &file) == 0 && (S_ISREG(file.st_mode) || S_ISBLK(file.st_mode));
}

ssize_t gc_readv(int fd, const gc_span *spans, int count, int64_t offset, int manner) {
  for (;;) {
    ssize_t r = read_parts(fd, (const struct iovec *)spans, count, offset, manner);
    if (r == 0 && manner == GC_IO_NOWAIT && may_have_more(fd)) return -EAGAIN;
    if (r >= 0) return r;
    if (errno != EINTR) return -errno;
  }
}

static ssize_t write_once(int fd, const gc_span *spans, int count, int64_t offset, int manner) {
  for (;;) {
    ssize_t r = write_parts(fd, (const struct iovec *)spans, count, offset, manner);
    if (r >= 0) return r;
    if (errno != EINTR) return -errno;
  }
}

#define BIT(number) (UINT64_C(1) << ((number) - 1))

// What a write raises comes to its thread: SIGPIPE where no process reads, SIGXFSZ where the file may not become larger. While the two are
// blocked they wait, and the one that has come is taken before the mask is put back. All by system calls: the C library's functions that
// change masks note what the program wants, and a handler of signals may be the caller.
typedef struct {
  uint64_t pending, mask;
} signals_before;

static signals_before hold_signals(void) {
  const uint64_t held = BIT(SIGPIPE) | BIT(SIGXFSZ);
  signals_before before = {0, 0};
  syscall(SYS_rt_sigpending, &before.pending, sizeof before.pending);
  syscall(SYS_rt_sigprocmask, (long)SIG_BLOCK, &held, &before.mask, sizeof held);
  return before;
}

static void let_signals_go(const signals_before *before, ssize_t result) {
  const uint64_t raised = result == -EPIPE ? BIT(SIGPIPE) : result == -EFBIG ? BIT(SIGXFSZ) : 0;
  const struct timespec none = {0, 0};
  if ((raised & ~before->pending) != 0) {
    while (syscall(SYS_rt_sigtimedwait, &raised, NULL, &none, sizeof raised) < 0 && errno == EINTR) {}
  }
  syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &before->mask, NULL, sizeof before->mask);
}

static ssize_t write_masked(int fd, const gc_span *spans, int count, int64_t offset, int manner) {
  const signals_before before = hold_signals();
  ssize_t r = write_once(fd, spans, count, offset, manner);
  let_signals_go(&before, r);
  return r;
}

ssize_t gc_write_quietly(int fd, const void *bytes, size_t count) {
  int former = errno;
  const signals_before before = hold_signals();
  ssize_t r;
  do r = raw_write(fd, bytes, count);
  while (r < 0 && errno == EINTR);
  if (r < 0) r = -errno;
  let_signals_go(&before, r);
  errno = former;
  return r;
}

ssize_t gc_writev(int fd, const gc_span *spans, int count, int64_t offset, int manner, bool may_break) {
  if (!may_break) return write_once(fd, spans, count, offset, manner);
  // Kernels from 6.18 on can keep SIGPIPE from one call. A kernel that does not know the flag refuses the call before it writes.
  static int refused;
  if (!__atomic_load_n(&refused, __ATOMIC_RELAXED)) {
    ssize_t r = write_once(fd, spans, count, offset, manner | RWF_NOSIGNAL);
    if (r != -EOPNOTSUPP && r != -EINVAL) return r;
    r = write_masked(fd, spans, count, offset, manner);
    if (r >= 0) __atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
    return r;
  }
  return write_masked(fd, spans, count, offset, manner);
}

ssize_t gc_receive(int fd, void *start, size_t count) {
  for (;;) {
    ssize_t r = recv(fd, start, count, MSG_DONTWAIT);
    if (r >= 0) return r;
    if (errno != EINTR) return -errno;
  }
}

ssize_t gc_send(int fd, const gc_span *spans, int count) {
  struct msghdr message = {.msg_iov = (struct iovec *)spans, .msg_iovlen = (size_t)count};
  for (;;) {
    ssize_t r = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (r >= 0) return r;
    if (errno != EINTR) return -errno;
  }
}

int64_t gc_move_position(int fd, int64_t distance) {
  off_t position = lseek(fd, distance, SEEK_CUR);
  return position >= 0 ? position : -errno;
}

// Devices that are memory, or random numbers, give bytes. The kernel's log is a neighbour of theirs and gives records.
static bool is_memory(dev_t device) { return major(device) == 1 && minor(device) != 11; }

static ptrdiff_t largest_message(int fd, const struct stat *status, int flags) {
  switch (status->st_mode & S_IFMT) {
  case S_IFSOCK: {
    int type = SOCK_STREAM;
    socklen_t length = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type != SOCK_STREAM ? PTRDIFF_MAX : 0;
  }
  // A packet is a page at most. O_DIRECT of the writer makes packets; pipe2 gives the reading end no such flag. A reading end that has it was
  // opened so, or the program has set it.
  case S_IFIFO:
    return flags & O_DIRECT ? PTRDIFF_MAX : sysconf(_SC_PAGESIZE);
  // Input events, tunnels and the like. A terminal gives characters.
  case S_IFCHR:
    return is_memory(status->st_rdev) || isatty(fd) ? 0 : PTRDIFF_MAX;
  // Inodes without a name have no type: events, timers, signals, changes of files.
  case 0:
    return PTRDIFF_MAX;
  default:
    return 0;
  }
}

int gc_descriptor_describe(int fd, gc_descriptor_kind *kind) {
  struct stat status;
  if (fstat(fd, &status) != 0) return -errno;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return -errno;
  ptrdiff_t message = largest_message(fd, &status, flags);
  off_t position = lseek(fd, 0, SEEK_CUR);
  *kind = (gc_descriptor_kind){
      .is_socket = S_ISSOCK(status.st_mode),
      .is_pipe = S_ISFIFO(status.st_mode),
      .is_file = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode),
      .is_folder = S_ISDIR(status.st_mode),
      .is_nonblocking = (flags & O_NONBLOCK) != 0,
      .largest_message = message,
      .position = position >= 0 ? position : -errno,
  };
  return 0;
}

bool gc_descriptor_is_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

int gc_descriptor_set_nonblocking(int fd, bool on) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return -errno;
  int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  return wanted == flags || fcntl(fd, F_SETFL, wanted) == 0 ? 0 : -errno;
}

bool gc_descriptors_share(int fd, int other) {
  pid_t self = getpid();
  long order = syscall(SYS_kcmp, self, self, KCMP_FILE, (long)fd, (long)other);
  if (order >= 0) return order == 0;
  struct stat one, two;
  return fstat(fd, &one) == 0 && fstat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// The folder that a file would be created in.
static int stat_folder(const char *path, struct stat *status) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  if (length >= sizeof folder) return -ENAMETOOLONG;
  memcpy(folder, path, length);
  folder[length] = 0;
  return stat(folder, status) == 0 ? 0 : -errno;
}

int gc_channel_examine(const char *path, int flags, bool *seeks) {
  struct stat status;
  *seeks = true;
  if ((flags & O_NOFOLLOW ? lstat : stat)(path, &status) != 0) {
    int error = errno;
    return flags & O_CREAT ? stat_folder(path, &status) : -error;
  }
  *seeks = !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode);
  return S_ISDIR(status.st_mode) ? -EISDIR : 0;
}

int gc_channel_open(const char *path, int flags, unsigned mode) {
  struct stat status;
  if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISBLK(status.st_mode))
    flags |= O_NONBLOCK;
  for (;;) {
    int fd = open(path, flags | O_CLOEXEC, (mode_t)mode);
    if (fd >= 0) return fd;
    if (errno != EINTR) return -errno;
  }
}
