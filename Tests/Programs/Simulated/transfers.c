// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What reads and writes of pipes and socket pairs do where they have to wait. The word names a fact; without one, all are checked.

#include "expect.h"

#include <dispatch/dispatch.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

static int ends[2];
// What programs call that are built with _FORTIFY_SOURCE.
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static void *write_later(void *text) {
  rest();
  EXPECT(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
  return NULL;
}
static void *close_later(void *descriptor) {
  rest();
  EXPECT(close(*(int *)descriptor) == 0);
  return NULL;
}
static void *read_later(void *count) {
  rest();
  char bytes[70000];
  for (ssize_t left = *(int *)count, got; left > 0; left -= got) {
    got = read(ends[0], bytes, left > (ssize_t)sizeof bytes ? sizeof bytes : (size_t)left);
    EXPECT(got > 0);
  }
  return NULL;
}
static void make_pipe(void) { EXPECT(pipe(ends) == 0); }
static void make_pair(int type) { EXPECT(socketpair(AF_UNIX, type, 0, ends) == 0); }
static void close_both(void) { EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0); }

static void waits(void) {
  char bytes[16];
  long begin = now();
  make_pipe();
  pthread_t writer = start(write_later, "one");
  EXPECT(read(ends[0], bytes, sizeof bytes) == 3 && memcmp(bytes, "one", 3) == 0);
  EXPECT(now() - begin >= 49 && now() - begin < 1000);
  pthread_join(writer, NULL);
  writer = start(write_later, "two");
  struct iovec parts[] = {{bytes, 1}, {bytes + 1, 8}};
  EXPECT(readv(ends[0], parts, 2) == 3 && memcmp(bytes, "two", 3) == 0);
  pthread_join(writer, NULL);
  EXPECT(read(ends[0], bytes, 0) == 0 && write(ends[1], bytes, 0) == 0);
  EXPECT(read(ends[1], bytes, 1) < 0 && errno == EBADF && write(ends[0], bytes, 1) < 0 && errno == EBADF);
  close_both();
  EXPECT(read(ends[0], bytes, 1) < 0 && errno == EBADF);
}

// The last one that could write has gone.
static void end(void) {
  char byte;
  make_pipe();
  int copy = dup(ends[1]), other = fcntl(ends[1], F_DUPFD_CLOEXEC, 100);
  EXPECT(other >= 100 && close(ends[1]) == 0 && close(other) == 0);
  pthread_t closer = start(close_later, &copy);
  EXPECT(read(ends[0], &byte, 1) == 0);
  pthread_join(closer, NULL);
  EXPECT(close(ends[0]) == 0);
  make_pair(SOCK_STREAM);
  closer = start(close_later, &ends[1]);
  EXPECT(recv(ends[0], &byte, 1, 0) == 0);
  pthread_join(closer, NULL);
  EXPECT(close(ends[0]) == 0);
  // Another descriptor takes the place of the last one.
  make_pipe();
  int null = open("/dev/null", O_RDWR);
  EXPECT(dup2(null, ends[1]) == ends[1] && read(ends[0], &byte, 1) == 0 && dup3(null, ends[0], O_CLOEXEC) == ends[0]);
  close(null);
  close_both();
}

static void broken(void) {
  static char bytes[200000];
  signal(SIGPIPE, SIG_IGN);
  make_pipe();
  EXPECT(close(ends[0]) == 0 && write(ends[1], "x", 1) < 0 && errno == EPIPE && close(ends[1]) == 0);
  // It waits for room, and the reader goes.
  make_pipe();
  pthread_t closer = start(close_later, &ends[0]);
  EXPECT(write(ends[1], bytes, sizeof bytes) == 65536);
  pthread_join(closer, NULL);
  EXPECT(write(ends[1], bytes, 1) < 0 && errno == EPIPE && close(ends[1]) == 0);
  make_pair(SOCK_STREAM);
  EXPECT(close(ends[0]) == 0 && send(ends[1], bytes, 1, MSG_NOSIGNAL) < 0 && errno == EPIPE && close(ends[1]) == 0);
}

// A writer that waits is told of the end by the count of what it has written, or by an error, and not by the signal.
static volatile sig_atomic_t breaks;
static void count_break(int number) {
  (void)number;
  breaks += 1;
}
static void broken_late(void) {
  static char bytes[200000];
  int room = 4096;
  signal(SIGPIPE, count_break);
  make_pair(SOCK_STREAM);
  EXPECT(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
  pthread_t closer = start(close_later, &ends[0]);
  ssize_t written = write(ends[1], bytes, sizeof bytes);
  EXPECT(written > 0 && written < (ssize_t)sizeof bytes && breaks == 0);
  pthread_join(closer, NULL);
  EXPECT(write(ends[1], bytes, 1) < 0 && errno == EPIPE && breaks == 1);
  EXPECT(close(ends[1]) == 0);
  make_pair(SOCK_STREAM);
  while (send(ends[1], bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
  closer = start(close_later, &ends[0]);
  EXPECT(write(ends[1], bytes, 1) < 0 && errno == ECONNRESET && breaks == 1);
  pthread_join(closer, NULL);
  EXPECT(write(ends[1], bytes, 1) < 0 && errno == EPIPE && breaks == 2);
  EXPECT(close(ends[1]) == 0);
  // A pipe has the signal also where it has waited.
  make_pipe();
  closer = start(close_later, &ends[0]);
  EXPECT(write(ends[1], bytes, sizeof bytes) == 65536 && breaks == 3);
  pthread_join(closer, NULL);
  EXPECT(close(ends[1]) == 0);
}

static void fills(void) {
  static char bytes[300000];
  int total = sizeof bytes;
  make_pipe();
  pthread_t reader = start(read_later, &total);
  EXPECT(write(ends[1], bytes, sizeof bytes) == sizeof bytes);
  pthread_join(reader, NULL);
  // Single bytes fill it to the last one.
  EXPECT(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  for (int count = 0; count < 4096; count++) EXPECT(write(ends[1], "x", 1) == 1);
  struct pollfd polled = {.fd = ends[1], .events = POLLOUT};
  EXPECT(poll(&polled, 1, 10) == 0);
  // What a pipe takes as a whole comes behind all of that.
  total = 4096 + 100;
  reader = start(read_later, &total);
  struct iovec parts[] = {{bytes, 40}, {bytes, 60}};
  EXPECT(writev(ends[1], parts, 2) == 100);
  pthread_join(reader, NULL);
  close_both();
  make_pair(SOCK_STREAM);
  total = 800000;
  reader = start(read_later, &total);
  for (int count = 0; count < 2; count++) EXPECT(send(ends[1], bytes, sizeof bytes, 0) == sizeof bytes);
  struct iovec halves[] = {{bytes, 100000}, {bytes, 100000}};
  struct msghdr message = {.msg_iov = halves, .msg_iovlen = 2};
  EXPECT(sendmsg(ends[1], &message, 0) == 200000 && message.msg_iovlen == 2 && halves[1].iov_len == 100000);
  pthread_join(reader, NULL);
  close_both();
}

static void impatient(void) {
  char bytes[8];
  EXPECT(pipe2(ends, O_NONBLOCK) == 0);
  EXPECT(read(ends[0], bytes, 1) < 0 && errno == EAGAIN);
  static char many[100000];
  EXPECT(write(ends[1], many, sizeof many) == 65536 && write(ends[1], many, 1) < 0 && errno == EAGAIN);
  close_both();
  make_pair(SOCK_STREAM);
  EXPECT(recv(ends[0], bytes, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  EXPECT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && read(ends[0], bytes, 1) < 0 && errno == EAGAIN);
  while (send(ends[1], many, 10000, MSG_DONTWAIT) > 0) continue;
  EXPECT(errno == EAGAIN);
  close_both();
}

static void timeouts(void) {
  char bytes[8];
  struct timeval time = {.tv_usec = 60000};
  make_pair(SOCK_STREAM);
  EXPECT(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
  EXPECT(setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0);
  long begin = now();
  EXPECT(read(ends[0], bytes, 1) < 0 && errno == EAGAIN && now() - begin >= 59 && now() - begin < 1000);
  begin = now();
  static char many[1000000];
  ssize_t part = write(ends[1], many, sizeof many);
  EXPECT(part > 0 && part < (ssize_t)sizeof many && now() - begin >= 59);
  EXPECT(write(ends[1], many, 1) < 0 && errno == EAGAIN);
  // All of it, and then as much as there is until the time is over.
  EXPECT(recv(ends[0], many, (size_t)part, MSG_WAITALL) == part);
  pthread_t writer = start(write_later, "123");
  EXPECT(recv(ends[0], bytes, sizeof bytes, MSG_WAITALL) == 3 && memcmp(bytes, "123", 3) == 0);
  pthread_join(writer, NULL);
  close_both();
}

static void datagrams(void) {
  char bytes[16];
  make_pair(SOCK_DGRAM);
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  pthread_t writer = start(write_later, "datagram");
  EXPECT(recvfrom(ends[0], bytes, sizeof bytes, MSG_WAITALL, (struct sockaddr *)&address, &length) == 8 && length == 0);
  pthread_join(writer, NULL);
  writer = start(write_later, "long");
  struct iovec part = {bytes, 2};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  EXPECT(recvmsg(ends[0], &message, 0) == 2 && (message.msg_flags & MSG_TRUNC) != 0);
  pthread_join(writer, NULL);
  EXPECT(sendto(ends[1], "x", 1, 0, NULL, 0) == 1 && recv(ends[0], bytes, 4, MSG_PEEK) == 1 && read(ends[0], bytes, 4) == 1);
  close_both();
}

// A descriptor goes through a socket pair, and is what it was.
static void rights(void) {
  make_pipe();
  int pair[2], received;
  char byte, room[CMSG_SPACE(sizeof received)] = {0};
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  struct iovec part = {"x", 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  *CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof received), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &ends[0], sizeof received);
  EXPECT(sendmsg(pair[0], &message, 0) == 1 && close(ends[0]) == 0);
  part.iov_base = &byte;
  EXPECT(recvmsg(pair[1], &message, 0) == 1);
  memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
  ends[0] = received;
  pthread_t writer = start(write_later, "x");
  EXPECT(read(received, &byte, 1) == 1);
  pthread_join(writer, NULL);
  EXPECT(close(pair[0]) == 0 && close(pair[1]) == 0);
  close_both();
}

// What a thread waits for stays what it is, whatever becomes of the number.
static void *replace_later(void *context) {
  rest();
  int former = ends[0], others[2];
  EXPECT(close(former) == 0 && pipe(others) == 0 && others[0] == former);
  EXPECT(write(others[1], "wrong", 5) == 5);
  rest();
  EXPECT(write(ends[1], "right", 5) == 5);
  rest();
  EXPECT(close(others[0]) == 0 && close(others[1]) == 0);
  return context;
}
static void replaced(void) {
  char bytes[8];
  make_pipe();
  pthread_t other = start(replace_later, NULL);
  EXPECT(read(ends[0], bytes, sizeof bytes) == 5 && memcmp(bytes, "right", 5) == 0);
  pthread_join(other, NULL);
  EXPECT(close(ends[1]) == 0);
  make_pipe();
  other = start(replace_later, NULL);
  long begin = now();
  EXPECT(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, -1) == 1 && now() - begin >= 99);
  pthread_join(other, NULL);
  EXPECT(close(ends[1]) == 0);
}

static void *read_for_ever(void *context) {
  char byte;
  EXPECT(read(ends[0], &byte, 1) == 1);
  return context;
}
static void cancelled(void) {
  make_pipe();
  pthread_t reader = start(read_for_ever, NULL);
  rest();
  void *result;
  EXPECT(pthread_cancel(reader) == 0 && pthread_join(reader, &result) == 0 && result == PTHREAD_CANCELED);
  EXPECT(write(ends[1], "x", 1) == 1 && poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 0) == 1);
  close_both();
}

static void selects(void) {
  make_pipe();
  fd_set in, out, bad;
  FD_ZERO(&in);
  FD_ZERO(&bad);
  FD_SET(ends[0], &in);
  out = bad;
  FD_SET(ends[1], &out);
  FD_SET(ends[0], &bad);
  struct timeval time = {.tv_usec = 500000};
  EXPECT(select(ends[1] + 1, &in, &out, &bad, &time) == 1 && FD_ISSET(ends[1], &out) && !FD_ISSET(ends[0], &in));
  EXPECT(!FD_ISSET(ends[0], &bad));
  FD_SET(ends[0], &in);
  pthread_t writer = start(write_later, "x");
  EXPECT(select(ends[0] + 1, &in, NULL, NULL, &time) == 1 && FD_ISSET(ends[0], &in));
  EXPECT(time.tv_sec == 0 && time.tv_usec > 100000 && time.tv_usec <= 460000);
  pthread_join(writer, NULL);
  EXPECT(read(ends[0], &time, 1) == 1);
  EXPECT(pselect(ends[0] + 1, &in, NULL, NULL, &(struct timespec){.tv_nsec = 30000000}, NULL) == 0 && !FD_ISSET(ends[0], &in));
  // A hang-up is none of the conditions that this one asks for.
  FD_SET(ends[0], &bad);
  time = (struct timeval){.tv_usec = 60000};
  EXPECT(close(ends[1]) == 0 && select(ends[0] + 1, NULL, NULL, &bad, &time) == 0);
  EXPECT(close(ends[0]) == 0);
  FD_SET(ends[0], &in);
  EXPECT(select(ends[0] + 1, &in, NULL, NULL, NULL) < 0 && errno == EBADF);
}

static void fortified(void) {
  char byte;
  make_pair(SOCK_STREAM);
  struct pollfd polled = {.fd = ends[0], .events = POLLIN};
  for (int way = 0; way < 5; way++) {
    pthread_t writer = start(write_later, "x");
    if (way == 3) EXPECT(__poll_chk(&polled, 1, -1, sizeof polled) == 1);
    if (way == 4) EXPECT(__ppoll_chk(&polled, 1, NULL, NULL, sizeof polled) == 1);
    if (way == 1) EXPECT(__recv_chk(ends[0], &byte, 1, 1, 0) == 1);
    if (way == 2) EXPECT(__recvfrom_chk(ends[0], &byte, 1, 1, 0, NULL, NULL) == 1);
    if (way != 1 && way != 2) EXPECT(__read_chk(ends[0], &byte, 1, 1) == 1);
    pthread_join(writer, NULL);
  }
  close_both();
}

// The library's sources and channels, and plain calls, on one pipe.
static void handle(void *group) {
  char byte;
  EXPECT(read(ends[0], &byte, 1) == 1);
  dispatch_group_leave(group);
}
static void library(void) {
  make_pipe();
  dispatch_group_t group = dispatch_group_create();
  dispatch_queue_t queue = dispatch_queue_create("handler", NULL);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)ends[0], 0, queue);
  dispatch_set_context(source, group);
  dispatch_source_set_event_handler_f(source, handle);
  dispatch_group_enter(group);
  dispatch_group_enter(group);
  dispatch_resume(source);
  EXPECT(write(ends[1], "1", 1) == 1);
  pthread_t writer = start(write_later, "2");
  EXPECT(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
  pthread_join(writer, NULL);
  dispatch_source_cancel(source);
  rest();
  close_both();
  // A channel writes more than there is room for; at its end it closes.
  make_pipe();
  dispatch_io_t channel = dispatch_io_create(DISPATCH_IO_STREAM, ends[1], queue, ^(int error) {
    EXPECT(error == 0 && close(ends[1]) == 0);
  });
  static char bytes[200000];
  dispatch_data_t data = dispatch_data_create(bytes, sizeof bytes, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  dispatch_io_write(channel, 0, data, queue, ^(bool done, dispatch_data_t left, int error) {
    EXPECT(error == 0 && (!done || left == NULL));
  });
  dispatch_io_close(channel, 0);
  size_t total = 0;
  for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) != 0; total += (size_t)count) EXPECT(count > 0);
  EXPECT(total == sizeof bytes && close(ends[0]) == 0);
  // A channel reads what threads write, until they have done so.
  make_pipe();
  __block size_t received = 0;
  dispatch_semaphore_t end = dispatch_semaphore_create(0);
  channel = dispatch_io_create(DISPATCH_IO_STREAM, ends[0], queue, ^(int error) {
    EXPECT(error == 0);
    dispatch_semaphore_signal(end);
  });
  dispatch_io_read(channel, 0, SIZE_MAX, queue, ^(bool done, dispatch_data_t part, int error) {
    EXPECT(error == 0);
    if (part != NULL) received += dispatch_data_get_size(part);
    if (done) dispatch_io_close(channel, 0);
  });
  EXPECT(write(ends[1], bytes, sizeof bytes) == sizeof bytes);
  writer = start(write_later, "3");
  pthread_join(writer, NULL);
  EXPECT(close(ends[1]) == 0 && dispatch_semaphore_wait(end, DISPATCH_TIME_FOREVER) == 0);
  EXPECT(received == sizeof bytes + 1 && close(ends[0]) == 0);
}

int main(int count, char **names) {
  static const struct fact facts[] = {
      {"waits", waits},         {"end", end},           {"broken", broken},       {"fills", fills},
      {"impatient", impatient}, {"timeouts", timeouts}, {"datagrams", datagrams}, {"rights", rights},
      {"replaced", replaced},   {"cancelled", cancelled}, {"selects", selects},   {"library", library},
      {"fortified", fortified}, {"broken_late", broken_late},
  };
  (void)count;
  return check(facts, sizeof facts / sizeof facts[0], names);
}
