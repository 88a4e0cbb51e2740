// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// One list of small checks, run on the real kernel and on the made-up machine: both must print the same. Only what is the
/// same on each run is printed: results, events, counts; no times, no numbers of processes.

#include "checks.h"

static void check_events(void) {
  title("event descriptors");
  int fd = gc_eventfd();
  uint64_t one = 1, two = 2, full = UINT64_MAX - 1, refused = UINT64_MAX;
  SHOW(fd >= 3);
  SHOW(number_from(fd));
  SHOW(gc_poll(fd, GC_EPOLLIN | GC_EPOLLOUT));
  SHOW(gc_write(fd, &one, 8));
  SHOW(gc_write(fd, &two, 8));
  SHOW(gc_poll(fd, GC_EPOLLIN | GC_EPOLLOUT));
  SHOW(number_from(fd));
  SHOW(gc_write(fd, &full, 8));
  SHOW(gc_poll(fd, GC_EPOLLIN | GC_EPOLLOUT));
  SHOW(gc_write(fd, &one, 8));
  SHOW(gc_write(fd, &refused, 8));
  SHOW(gc_write(fd, &one, 4));
  SHOW(gc_read(fd, &one, 4));
  SHOW(number_from(fd) == full);
  SHOW(gc_bytes_to_read(fd));
  SHOW(gc_room_to_write(fd));
  SHOW(gc_write(fd, &two, 8));
  SHOW(gc_eventfd_renew(fd) == fd);
  SHOW(number_from(fd));
  SHOW(gc_close(fd));
  SHOW(gc_close(fd));
  SHOW(gc_is_open(fd));
  SHOW(gc_read(fd, &one, 8));
}

static void check_level(void) {
  title("epoll, by level");
  int ep = gc_epoll_create(), fd = gc_eventfd();
  uint64_t one = 1;
  SHOW(gc_epoll_add(ep, fd, GC_EPOLLIN, 7));
  SHOW(gc_epoll_add(ep, fd, GC_EPOLLIN, 8));
  show_now("nothing", ep);
  gc_write(fd, &one, 8);
  show_now("written", ep);
  show_now("again", ep);
  number_from(fd);
  show_now("read", ep);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLOUT, 9));
  show_now("modified", ep);
  SHOW(gc_epoll_remove(ep, fd));
  SHOW(gc_epoll_remove(ep, fd));
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN, 1));
  show_now("removed", ep);
  SHOW(gc_epoll_add(ep, ep, GC_EPOLLIN, 1));
  SHOW(gc_epoll_add(fd, ep, GC_EPOLLIN, 1));
  SHOW(gc_epoll_add(ep, 999, GC_EPOLLIN, 1));
  SHOW(gc_epoll_add(999, fd, GC_EPOLLIN, 1));
  SHOW(gc_epoll_wait(fd, &(gc_epoll_event){0}, 1, 0));
  SHOW(gc_epoll_wait(ep, &(gc_epoll_event){0}, 0, 0));
  show_wait("a while", ep, short_time);
  gc_close(fd), gc_close(ep);
}

static void check_edge(void) {
  title("epoll, by edge and by shot");
  int ep = gc_epoll_create(), fd = gc_eventfd();
  uint64_t one = 1;
  gc_epoll_add(ep, fd, GC_EPOLLIN | GC_EPOLLET, 1);
  gc_write(fd, &one, 8);
  show_now("edge", ep);
  show_now("no edge", ep);
  gc_write(fd, &one, 8);
  gc_write(fd, &one, 8);
  show_now("two writes, one edge", ep);
  show_now("no edge", ep);
  gc_write(fd, &one, 8);
  number_from(fd);
  show_now("written and read", ep);
  gc_write(fd, &one, 8);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLET, 2));
  show_now("modified", ep);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLET, 3));
  show_now("modified while full", ep);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLONESHOT, 4));
  show_now("shot", ep);
  show_now("shot no more", ep);
  gc_write(fd, &one, 8);
  show_now("written", ep);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLONESHOT, 5));
  show_now("armed again", ep);
  SHOW(gc_epoll_modify(ep, fd, GC_EPOLLIN | GC_EPOLLOUT | GC_EPOLLET, 6));
  show_now("both", ep);
  number_from(fd);
  show_now("read: room", ep);
  gc_close(fd), gc_close(ep);
}

static void check_order(void) {
  title("epoll, several");
  int ep = gc_epoll_create(), fds[4];
  uint64_t one = 1;
  for (int i = 0; i < 4; i++) gc_epoll_add(ep, fds[i] = gc_eventfd(), GC_EPOLLIN, (uint64_t)i);
  gc_write(fds[2], &one, 8), gc_write(fds[0], &one, 8), gc_write(fds[3], &one, 8);
  show_now("2, 0, 3", ep);
  gc_epoll_event two[2];
  for (int round = 0; round < 3; round++) {
    int count = gc_epoll_wait(ep, two, 2, 0);
    printf("  %d: %llu %llu\n", count, (unsigned long long)two[0].token, (unsigned long long)two[1].token);
  }
  int other = outside_duplicate(fds[0]);
  gc_close(fds[0]);
  show_now("closed, but not the last", ep);
  SHOW(gc_epoll_remove(ep, fds[0]));
  SHOW(gc_epoll_modify(ep, other, GC_EPOLLIN, 9));
  SHOW(gc_epoll_add(ep, other, GC_EPOLLIN, 10));
  show_now("two of one file", ep);
  gc_close(other);
  show_now("closed", ep);
  SHOW(gc_descriptors_share(fds[1], fds[2]));
  other = outside_duplicate(fds[1]);
  SHOW(gc_descriptors_share(fds[1], other));
  gc_close(other), gc_close(fds[1]), gc_close(fds[2]), gc_close(fds[3]), gc_close(ep);
}

static void check_pipes(void) {
  title("pipes");
  static char bytes[70000];
  int ends[2], ep = gc_epoll_create();
  gc_pipe(ends);
  gc_epoll_add(ep, ends[0], GC_EPOLLIN | GC_EPOLLRDHUP, 1);
  gc_epoll_add(ep, ends[1], GC_EPOLLOUT | GC_EPOLLET, 2);
  show_now("fresh", ep);
  SHOW(gc_read(ends[0], bytes, 10));
  SHOW(gc_write(ends[1], "hello", 5));
  show_now("written", ep);
  SHOW(gc_bytes_to_read(ends[0]));
  SHOW(gc_room_to_write(ends[1]));
  SHOW(gc_read(ends[0], bytes, 2));
  SHOW(gc_read(ends[0], bytes, 100));
  SHOW(gc_write(ends[1], bytes, sizeof bytes));
  SHOW(gc_write(ends[1], bytes, 1));
  SHOW(gc_poll(ends[1], GC_EPOLLOUT));
  show_now("full", ep);
  SHOW(gc_read(ends[0], bytes, 4095));
  show_now("not yet a page", ep);
  SHOW(gc_poll(ends[1], GC_EPOLLOUT));
  SHOW(gc_read(ends[0], bytes, 1));
  show_now("a page", ep);
  SHOW(gc_write(ends[1], bytes, 5000));
  SHOW(gc_read(ends[0], bytes, 4096));
  SHOW(gc_write(ends[1], bytes, 4000));
  SHOW(gc_write(ends[1], bytes, 90));
  SHOW(gc_write(ends[1], bytes, 90));
  SHOW(gc_bytes_to_read(ends[0]));
  gc_span spans[2] = {{bytes, 3}, {bytes + 3, 4}};
  SHOW(gc_readv(ends[0], spans, 2, -1, 0));
  SHOW(gc_readv(ends[0], spans, 2, 0, 0));
  gc_close(ends[1]);
  show_now("no writer", ep);
  while (gc_read(ends[0], bytes, sizeof bytes) > 0) {}
  show_now("nothing left", ep);
  SHOW(gc_read(ends[0], bytes, 1));
  SHOW(gc_poll(ends[0], GC_EPOLLIN));
  gc_close(ends[0]);
  gc_pipe(ends);
  gc_epoll_add(ep, ends[1], GC_EPOLLOUT | GC_EPOLLET, 3);
  show_now("new pipe", ep);
  gc_close(ends[0]);
  show_now("no reader", ep);
  SHOW(gc_writev(ends[1], spans, 2, -1, 0, true));
  outside_ignore(13);
  SHOW(gc_write(ends[1], bytes, 1));
  gc_descriptor_kind kind;
  SHOW(gc_descriptor_describe(ends[1], &kind));
  printf("  %d %d %d %d %lld\n", kind.is_pipe, kind.is_socket, kind.is_file, kind.is_nonblocking, (long long)kind.position);
  gc_close(ends[1]), gc_close(ep);
}

static void check_sockets(void) {
  title("sockets");
  char bytes[100];
  int ends[2], ep = gc_epoll_create();
  outside_sockets(ends);
  gc_epoll_add(ep, ends[0], GC_EPOLLIN | GC_EPOLLRDHUP, 1);
  gc_epoll_add(ep, ends[1], GC_EPOLLIN | GC_EPOLLOUT | GC_EPOLLRDHUP | GC_EPOLLET, 2);
  show_now("fresh", ep);
  gc_span spans[2] = {{"abc", 3}, {"defg", 4}};
  SHOW(gc_send(ends[1], spans, 2));
  show_now("sent", ep);
  SHOW(gc_bytes_to_read(ends[0]));
  SHOW(gc_receive(ends[0], bytes, 3));
  SHOW(gc_receive(ends[0], bytes, 100));
  SHOW(gc_receive(ends[0], bytes, 100));
  show_now("received", ep);
  SHOW(outside_end_writing(ends[0]));
  show_now("end of the stream", ep);
  SHOW(gc_receive(ends[1], bytes, 100));
  SHOW(gc_send(ends[0], spans, 2));
  SHOW(gc_send(ends[1], spans, 2));
  SHOW(outside_end_writing(ends[1]));
  show_now("of both", ep);
  gc_descriptor_kind kind;
  SHOW(gc_descriptor_describe(ends[1], &kind));
  printf("  %d %d %d %d %lld\n", kind.is_pipe, kind.is_socket, kind.is_file, kind.is_nonblocking, (long long)kind.position);
  gc_close(ends[0]);
  show_now("closed", ep);
  SHOW(gc_send(ends[1], spans, 2));
  SHOW(gc_receive(ends[1], bytes, 100));
  SHOW(gc_receive(ends[1], bytes, 100));
  gc_close(ends[1]);
  outside_sockets(ends);
  gc_epoll_add(ep, ends[1], GC_EPOLLIN | GC_EPOLLRDHUP | GC_EPOLLONESHOT, 3);
  gc_close(ends[0]);
  show_now("closed, one shot", ep);
  show_now("no more", ep);
  gc_close(ends[1]), gc_close(ep);
  int pipe_ends[2];
  gc_pipe(pipe_ends);
  SHOW(gc_receive(pipe_ends[0], bytes, 1));
  SHOW(gc_send(pipe_ends[1], spans, 1));
  gc_close(pipe_ends[0]), gc_close(pipe_ends[1]);
}

static void check_timers(void) {
  title("timers");
  int ep = gc_epoll_create();
  for (int clock = 0; clock < 8; clock += clock == 0 ? 1 : clock == 1 ? 6 : 1) {
    uint64_t now = clock == GC_CLOCK_WALL ? gc_clock_wall() : clock == GC_CLOCK_BOOT ? gc_clock_continuous() : gc_clock_uptime();
    int fd = gc_timerfd_create(clock);
    printf(" clock %d\n", clock);
    gc_epoll_add(ep, fd, GC_EPOLLIN | GC_EPOLLET, 1);
    SHOW(number_from(fd));
    SHOW(gc_timerfd_set(fd, 1, clock == GC_CLOCK_WALL));
    show_wait("past", ep, long_time);
    SHOW(number_from(fd));
    show_now("read", ep);
    SHOW(gc_timerfd_set(fd, now + 3000000, clock == GC_CLOCK_WALL));
    show_wait("in 3 ms", ep, long_time);
    show_now("no edge", ep);
    SHOW(gc_timerfd_set(fd, now + 60000000000u, clock == GC_CLOCK_WALL));
    SHOW(number_from(fd));
    SHOW(gc_timerfd_set(fd, 0, false));
    show_wait("off", ep, short_time);
    SHOW(gc_timerfd_set(fd, 1, false));
    show_wait("past", ep, long_time);
    SHOW(gc_timerfd_set(fd, 0, false));
    SHOW(number_from(fd));
    uint64_t value = 1;
    SHOW(gc_write(fd, &value, 8));
    gc_close(fd);
  }
  SHOW(gc_timerfd_create(77));
  int event = gc_eventfd();
  SHOW(gc_timerfd_set(event, 1, false));
  SHOW(gc_timerfd_set(999, 1, false));
  gc_close(event), gc_close(ep);
}

void run_checks(void) {
  check_events();
  check_level();
  check_edge();
  check_order();
  check_pipes();
  check_sockets();
  check_timers();
  check_futexes();
  check_threads();
  check_signals();
  check_files();
  check_processes();
}
