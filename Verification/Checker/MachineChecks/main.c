// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The checks on the real kernel.

#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/wait.h>
#include <sys/socket.h>
#include <unistd.h>
#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "outside.h"

extern void run_checks(void);

static char folder[64];
static const char *real_path(const char *path) {
  static char paths[4][160];
  static int next;
  char *result = paths[next++ % 4];
  snprintf(result, sizeof paths[0], "%s%s", folder, path);
  return result;
}

int outside_sockets(int fds[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0 ? 0 : -errno;
}
int outside_end_writing(int socket) { return shutdown(socket, SHUT_WR) == 0 ? 0 : -errno; }
int outside_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }
void outside_raise(int number) { kill(getpid(), number); }
void outside_ignore(int number) { signal(number, SIG_IGN); }
static volatile sig_atomic_t handled_count;
static void handler(int number) {
  (void)number;
  handled_count++;
}
void outside_handle(int number) { signal(number, handler); }
unsigned outside_handled(int number) { return (void)number, (unsigned)handled_count; }
void outside_block(uint64_t mask) {
  sigset_t set;
  sigemptyset(&set);
  for (int number = 1; number <= 64; number++)
    if ((mask >> (number - 1) & 1) != 0) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, NULL);
}
const char *outside_path(const char *path) { return real_path(path); }
int outside_make_file(const char *path, const char *contents) {
  if (contents == NULL) return mkdir(real_path(path), 0755) == 0 ? 0 : -errno;
  int fd = open(real_path(path), O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (fd < 0) return -errno;
  size_t length = 0;
  while (contents[length] != 0) length++;
  ssize_t written = write(fd, contents, length);
  close(fd);
  return written == (ssize_t)length ? 0 : -EIO;
}
int outside_append(const char *path, const char *contents) {
  int fd = open(real_path(path), O_WRONLY | O_APPEND);
  if (fd < 0) return -errno;
  size_t length = 0;
  while (contents[length] != 0) length++;
  ssize_t written = write(fd, contents, length);
  close(fd);
  return written == (ssize_t)length ? 0 : -EIO;
}
int outside_touch(const char *path) { return chmod(real_path(path), 0600) == 0 ? 0 : -errno; }
int outside_remove(const char *path) { return unlink(real_path(path)) == 0 ? 0 : -errno; }
int outside_rename(const char *from, const char *to) { return rename(real_path(from), real_path(to)) == 0 ? 0 : -errno; }
int outside_start_child(void) {
  pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  return pid;
}
void outside_end_child(int pid, bool by_signal, int status) {
  (void)by_signal;
  kill(pid, status);
  siginfo_t info;
  while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
}
void outside_reap_child(int pid) {
  siginfo_t info;
  while (waitid(P_PID, (id_t)pid, &info, WEXITED) != 0 && errno == EINTR) {}
}

int main(void) {
  snprintf(folder, sizeof folder, "/tmp/machine-checks-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  run_checks();
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) == 0 ? 0 : 1;
}
