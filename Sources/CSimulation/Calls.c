//===- Calls.c - what a thread waits for in the kernel ------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The kernel says in which call of it a thread waits: so an escape has a name,
// also where the program has called through a function that is not replaced.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CSimulation.h"

#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct call {
  long number;
  const char *name;
  bool has_descriptor;
} calls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_recvfrom, "recvfrom", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_recvmmsg, "recvmmsg", true},
    {SYS_sendto, "sendto", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_sendmmsg, "sendmmsg", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept4", true},
    {SYS_connect, "connect", true},
    {SYS_splice, "splice", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_epoll_pwait, "epoll_pwait", true},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait", true},
    {SYS_poll, "poll", false},
    {SYS_pause, "pause", false},
#endif
    {SYS_ppoll, "ppoll", false},
    {SYS_pselect6, "pselect", false},
    {SYS_futex, "futex", false},
    {SYS_wait4, "wait4", false},
    {SYS_waitid, "waitid", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_rt_sigtimedwait, "sigtimedwait", false},
    {SYS_rt_sigsuspend, "sigsuspend", false},
    {SYS_msgrcv, "msgrcv", false},
    {SYS_semtimedop, "semtimedop", false},
};

static void describe(const struct call *call, long descriptor, char *text, size_t room) {
  char path[64], target[128];
  int length = snprintf(text, room, "waits in the call %s", call->name);
  if (!call->has_descriptor || length < 0 || (size_t)length >= room) return;
  snprintf(path, sizeof path, "/proc/self/fd/%ld", descriptor);
  ssize_t size = readlink(path, target, sizeof target - 1);
  if (size < 0) return;
  target[size] = 0;
  snprintf(text + length, room - (size_t)length, " of descriptor %ld, %s", descriptor, target);
}

int gcs_walk_stack(void **addresses, int most) { return backtrace(addresses, most); }

void gcs_describe_call(uint32_t thread, char *text, size_t room) {
  char path[64];
  text[0] = 0;
  snprintf(path, sizeof path, "/proc/self/task/%u/syscall", thread);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  long number = -1, first = 0;
  // A thread that computes has a word there, and no number.
  if (fscanf(file, "%ld %lx", &number, (unsigned long *)&first) < 1) number = -1;
  fclose(file);
  for (size_t index = 0; index < sizeof calls / sizeof calls[0]; index += 1) {
    if (calls[index].number == number) return describe(&calls[index], first, text, room);
  }
}
