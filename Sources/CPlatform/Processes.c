//===- Processes.c - watching processes -------------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CPlatform.h"
#include "CPlatformProcesses.h"
#include "Uncancelled.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int gc_pidfd_open(int32_t pid) {
  // The kernel closes such a descriptor on exec by definition.
  long result = syscall(SYS_pidfd_open, pid, 0);
  return result < 0 ? -errno : gc_above_standard((int)result);
}

/// How the process has ended, which kernels from 6.15 on remember in the descriptor after it was reaped, by whichever parent.
static int gc_pidfd_recorded_end(int pidfd, gc_process_end *end) {
  struct {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
  } info = {.mask = 1 << 3};
  if (ioctl(pidfd, _IOWR(0xFF, 11, info), &info) != 0) return -errno;
  if ((info.mask & 1 << 3) == 0) return -ECHILD;
  const int code = info.exit_code;
  const bool killed = WIFSIGNALED(code);
  *end = (gc_process_end){
      .has_ended = true,
      .was_killed = killed,
      .dumped_core = killed && WCOREDUMP(code),
      .status = killed ? WTERMSIG(code) : WEXITSTATUS(code),
  };
  return 0;
}

static int gc_child_end(idtype_t kind, id_t which, gc_process_end *end) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  while (raw_waitid(kind, which, &info, WEXITED | WNOWAIT | WNOHANG) != 0) {
    if (errno != EINTR) return -errno;
  }
  *end = (gc_process_end){
      .has_ended = info.si_pid != 0,
      .was_killed = info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED,
      .dumped_core = info.si_code == CLD_DUMPED,
      .status = info.si_status,
  };
  return 0;
}

int gc_pidfd_end(int pidfd, gc_process_end *end) {
  // P_PIDFD, which older headers do not name.
  int result = gc_child_end((idtype_t)3, (id_t)pidfd, end);
  return result == -ECHILD && gc_pidfd_recorded_end(pidfd, end) == 0 ? 0 : result;
}

int gc_process_end_of(int32_t pid, gc_process_end *end) {
  int result = gc_child_end(P_PID, (id_t)pid, end);
  if (result != -ECHILD) return result;
  // Another process's child, or none: all that can be known is whether it is there.
  return kill(pid, 0) != 0 && errno == ESRCH ? -ESRCH : -ECHILD;
}

// MARK: - The process connector

// A message: the netlink header, the connector's, then what it is about. The headers end in arrays of no size, so the
// parts are put together by hand.
enum {
  GC_MESSAGE_AT = NLMSG_LENGTH(0),
  GC_CONTENT_AT = GC_MESSAGE_AT + sizeof(struct cn_msg),
};

static int gc_connector_send(int connector, const uint32_t *words, int count) {
  const size_t length = (size_t)count * sizeof *words;
  struct nlmsghdr header = {.nlmsg_len = (uint32_t)(GC_CONTENT_AT + length), .nlmsg_type = NLMSG_DONE};
  struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = (uint16_t)length};
  char packet[GC_CONTENT_AT + 2 * sizeof *words];
  memcpy(packet, &header, sizeof header);
  memcpy(packet + GC_MESSAGE_AT, &message, sizeof message);
  memcpy(packet + GC_CONTENT_AT, words, length);
  return raw_send(connector, packet, header.nlmsg_len) < 0 ? -errno : 0;
}

/// One message of the kernel's; 1 when it is something else.
static int gc_connector_receive(int connector, struct proc_event *event) {
  char packet[GC_CONTENT_AT + sizeof *event];
  struct sockaddr_nl sender;
  socklen_t length = sizeof sender;
  ssize_t count;
  do {
    count = raw_receive(connector, packet, sizeof packet, (struct sockaddr *)&sender, &length);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  memset(event, 0, sizeof *event);
  if (count < GC_CONTENT_AT + (ssize_t)offsetof(struct proc_event, event_data) || sender.nl_pid != 0) return 1;
  memcpy(event, packet + GC_CONTENT_AT, (size_t)count - GC_CONTENT_AT);
  return 0;
}

int gc_connector_open(void) {
  int connector = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
  if (connector < 0) return -errno;
  struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
  const uint32_t listen = PROC_CN_MCAST_LISTEN;
  int result = bind(connector, (struct sockaddr *)&group, sizeof group) != 0 ? -errno : 0;
  if (result == 0) result = gc_connector_send(connector, &listen, 1);
  // The kernel has answered by now. It does not answer if the process is not allowed to listen.
  bool answered = false;
  struct proc_event event;
  while (result == 0 && !answered) {
    int received = gc_connector_receive(connector, &event);
    if (received == -EAGAIN) result = -EPERM;
    else if (received < 0) result = received;
    else if (received == 0 && event.what == PROC_EVENT_NONE) {
      answered = true;
      result = -(int)event.event_data.ack.err;
    }
  }
  if (result != 0) {
    raw_close(connector);
    return result;
  }
  // Kernels from 6.6 on filter; older ones ignore a request of this size.
  const uint32_t filter[2] = {PROC_CN_MCAST_LISTEN, PROC_EVENT_FORK | PROC_EVENT_EXEC};
  (void)gc_connector_send(connector, filter, 2);
  return connector;
}

void gc_connector_close(int connector) {
  const uint32_t ignore = PROC_CN_MCAST_IGNORE;
  (void)gc_connector_send(connector, &ignore, 1);
  raw_close(connector);
}

int gc_connector_next(int connector, int32_t *pid, int32_t *child) {
  struct proc_event event;
  int result = gc_connector_receive(connector, &event);
  *pid = *child = 0;
  if (result == -ENOBUFS) return GC_CONNECTOR_LOST;
  if (result != 0) return result < 0 ? result : 0;
  switch ((uint32_t)event.what) {
    case PROC_EVENT_FORK:
      // The kernel reports new threads in the same way.
      if (event.event_data.fork.child_pid != event.event_data.fork.child_tgid) return 0;
      *pid = event.event_data.fork.parent_tgid;
      *child = event.event_data.fork.child_tgid;
      return GC_CONNECTOR_FORK;
    case PROC_EVENT_EXEC:
      *pid = event.event_data.exec.process_tgid;
      return GC_CONNECTOR_EXEC;
    default:
      return 0;
  }
}
