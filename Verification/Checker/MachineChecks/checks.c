// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// One list of small checks, run on the real kernel and on the made-up machine: both must print the same. Only what is the
/// same on each run is printed: results, events, counts; no times, no numbers of processes.

#include <stdio.h>
#include <string.h>

#include "CPlatform.h"
#include "CPlatformFiles.h"
#include "CPlatformIO.h"
#include "CPlatformProcesses.h"
#include "CPlatformSignals.h"
#include "outside.h"

#define SHOW(call) printf("  %-58s %lld\n", #call, (long long)(call))
static void title(const char *name) { printf("%s\n", name); }

/// What a wait brings, within a while: a slow machine is no other machine.
static void show_wait(const char *what, int epfd, uint64_t timeout) {
  gc_epoll_event events[8];
  int count = gc_epoll_wait(epfd, events, 8, timeout);
  printf("  %-58s %d", what, count);
  for (int i = 0; i < count; i++) printf("  %llu:%x", (unsigned long long)events[i].token, events[i].events);
  printf("\n");
}

static void show_now(const char *what, int epfd) { show_wait(what, epfd, 0); }
static const uint64_t long_time = 5000000000u, short_time = 2000000;

static uint64_t number_from(int fd) {
  uint64_t value = 0;
  ssize_t count = gc_read(fd, &value, 8);
  return count == 8 ? value : (uint64_t)count;
}

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

static uint32_t word;
static int other_result, done;
static struct timespec in(uint64_t nanoseconds, uint64_t now) {
  now += nanoseconds;
  return (struct timespec){.tv_sec = (time_t)(now / 1000000000u), .tv_nsec = (long)(now % 1000000000u)};
}
static uint32_t load(const int *place) { return (uint32_t)__atomic_load_n(place, __ATOMIC_ACQUIRE); }
static void wait_for(int *place, uint32_t value) {
  while (load(place) != value) gc_nanosleep(100000);
}
static void sleeper(void *argument) {
  bool wall = argument != NULL;
  struct timespec deadline = in(long_time, wall ? gc_clock_wall() : gc_clock_uptime());
  other_result = wall ? gc_futex_wait_wall(&word, 0, &deadline) : gc_futex_wait(&word, 0, &deadline);
  __atomic_add_fetch(&done, 1, __ATOMIC_ACQ_REL);
}

static void check_futexes(void) {
  title("futexes");
  struct timespec soon = in(2000000, gc_clock_uptime()), past = in(0, gc_clock_uptime()), bad = {1, 1000000000};
  SHOW(gc_futex_wait(&word, 1, NULL));
  SHOW(gc_futex_wait(&word, 1, &past));
  SHOW(gc_futex_wait(&word, 0, &past));
  SHOW(gc_futex_wait(&word, 0, &soon));
  SHOW(gc_futex_wait(&word, 0, &bad));
  struct timespec wall = in(2000000, gc_clock_wall()), zero = {0, 0};
  SHOW(gc_futex_wait_wall(&word, 0, &wall));
  SHOW(gc_futex_wait_wall(&word, 0, &zero));
  SHOW(gc_futex_wait_wall(&word, 1, &zero));
  SHOW(gc_futex_wake(&word, 1));
  for (intptr_t clock = 0; clock < 2; clock++) {
    done = 0;
    SHOW(gc_thread_start(sleeper, (void *)clock, 0));
    // Until it waits.
    while (gc_futex_wake(&word, 1) == 0) gc_nanosleep(100000);
    wait_for(&done, 1);
    SHOW(other_result);
  }
}

static uint32_t thread_ids[2];
static int hooks;
static void second_hook(void) { __atomic_add_fetch(&hooks, 16, __ATOMIC_ACQ_REL); }
static void first_hook(void) {
  __atomic_add_fetch(&hooks, 1, __ATOMIC_ACQ_REL);
  gc_thread_at_exit(second_hook);
}
static void named(void *argument) {
  thread_ids[0] = gc_thread_id();
  thread_ids[1] = gc_thread_id_slow();
  gc_thread_set_name("a name that is too long");
  gc_thread_at_exit(second_hook);
  gc_thread_at_exit(first_hook);
  (void)argument;
}

static void check_threads(void) {
  title("threads");
  SHOW(gc_thread_id() == gc_process_id());
  SHOW(gc_thread_start(named, NULL, 1 << 20));
  wait_for(&hooks, 17);
  SHOW(hooks);
  SHOW(thread_ids[0] == thread_ids[1] && thread_ids[0] != gc_thread_id());
  char path[64], text[128] = "";
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", gc_thread_id());
  int fd = gc_open_read(path);
  SHOW(fd >= 0 && gc_read(fd, text, 100) > 5);
  printf("  %c\n", strrchr(text, ')')[2]);
  gc_close(fd);
  SHOW(gc_open_read("/proc/self/task/1073741824/stat"));
  uint64_t before = gc_clock_uptime(), wall = gc_clock_wall(), continuous = gc_clock_continuous();
  gc_nanosleep(2000000);
  SHOW(gc_clock_uptime() - before >= 2000000);
  SHOW(gc_clock_wall() - wall >= 2000000);
  SHOW(gc_clock_continuous() - continuous >= 2000000);
  SHOW(gc_clock_thread_cpu(gc_thread_id()) > 0);
  SHOW(gc_clock_thread_cpu(4194303));
  uint64_t count = gc_cycles();
  SHOW(gc_cycles() > count);
  SHOW(gc_membarrier_register());
  SHOW(gc_membarrier());
}

static void check_signals(void) {
  title("signals");
  int fd = gc_eventfd(), ep = gc_epoll_create();
  uint64_t mask = 0;
  gc_epoll_add(ep, fd, GC_EPOLLIN, 1);
  SHOW(gc_signal_can_be_watched(10));
  SHOW(gc_signal_can_be_watched(9));
  SHOW(gc_signal_can_be_watched(33));
  SHOW(gc_signal_can_be_watched(65));
  SHOW(gc_signal_watch(9));
  SHOW(gc_signals_wait_mask(&mask));
  gc_signals_set_descriptor(fd);
  SHOW(gc_signal_watch(10));
  SHOW(gc_signals_wait_mask(&mask));
  SHOW(gc_signal_take(10));
  outside_raise(10);
  outside_raise(10);
  show_now("raised twice", ep);
  SHOW(number_from(fd));
  outside_raise(10);
  show_now("not acknowledged", ep);
  gc_signals_acknowledge();
  SHOW(gc_signal_take(10));
  outside_raise(10);
  show_now("again", ep);
  SHOW(number_from(fd));
  gc_signals_acknowledge();
  SHOW(gc_signal_take(10));
  outside_handle(10);
  outside_raise(10);
  SHOW(outside_handled(10));
  SHOW(gc_signal_take(10));
  SHOW(number_from(fd));
  gc_signals_acknowledge();
  outside_block(1u << 9);
  outside_raise(10);
  SHOW(gc_signal_take(10));
  SHOW(number_from(fd));
  show_now("blocked, but for the wait", ep);
  SHOW(gc_signal_take(10));
  SHOW(outside_handled(10));
  gc_signals_acknowledge();
  number_from(fd);
  gc_signal_unwatch(10);
  outside_raise(10);
  SHOW(gc_signal_take(10));
  gc_signals_set_mask(0);
  SHOW(outside_handled(10));
  SHOW(gc_signals_wait_mask(&mask));
  gc_close(fd), gc_close(ep);
}

static void show_file_events(int fd) {
  char buffer[1024];
  ssize_t count = gc_read(fd, buffer, sizeof buffer);
  printf("  events: %zd\n", count > 0 ? 0 : count);
  for (ssize_t at = 0; at < count;) {
    struct {
      int watch;
      uint32_t mask, cookie, length;
    } head;
    memcpy(&head, buffer + at, sizeof head);
    printf("    watch %d  %x  cookie %d  %s\n", head.watch, head.mask, head.cookie != 0, head.length > 0 ? buffer + at + 16 : "");
    at += 16 + head.length;
  }
}

static void check_files(void) {
  title("files");
  const uint32_t all = GC_IN_MODIFY | GC_IN_ATTRIB | GC_IN_MOVED_FROM | GC_IN_MOVED_TO | GC_IN_CREATE | GC_IN_DELETE | GC_IN_MOVE_SELF;
  SHOW(outside_make_file("/folder", NULL));
  SHOW(outside_make_file("/folder/one", "text"));
  SHOW(outside_make_file("/folder/one", "text"));
  SHOW(outside_make_file("/none/one", "text"));
  SHOW(gc_open_path(outside_path("/folder/none")));
  int file = gc_open_path(outside_path("/folder/one")), folder = gc_open_path(outside_path("/folder")), watcher = gc_inotify_create();
  char bytes[16];
  SHOW(gc_read(file, bytes, 4));
  SHOW(gc_inotify_add(watcher, file, false, all));
  SHOW(gc_inotify_add(watcher, file, true, all));
  SHOW(gc_inotify_add(watcher, folder, false, all));
  SHOW(gc_inotify_add(watcher, 999, false, all));
  SHOW(gc_bytes_to_read(watcher) > 0);
  show_file_events(watcher);
  outside_append("/folder/one", "more");
  outside_append("/folder/one", "more");
  outside_touch("/folder/one");
  show_file_events(watcher);
  outside_make_file("/folder/two", "");
  outside_rename("/folder/one", "/folder/three");
  show_file_events(watcher);
  gc_file_status status;
  SHOW(gc_file_status_of(file, &status));
  printf("  size %d links %d folder %d regular %d\n", (int)status.size, (int)status.links, status.is_directory, status.is_regular);
  outside_remove("/folder/three");
  show_file_events(watcher);
  SHOW(gc_file_status_of(file, &status));
  printf("  links %d\n", (int)status.links);
  SHOW(gc_inotify_remove(watcher, 2));
  SHOW(gc_inotify_remove(watcher, 2));
  show_file_events(watcher);
  gc_close(file), gc_close(folder), gc_close(watcher);

  int channel = gc_channel_open(outside_path("/folder/two"), 2, 0);
  gc_span spans[2] = {{"abc", 3}, {"defg", 4}};
  SHOW(gc_writev(channel, spans, 2, -1, 0, false));
  SHOW(gc_move_position(channel, -5));
  SHOW(gc_read(channel, bytes, 3));
  SHOW(gc_bytes_left(channel));
  SHOW(gc_bytes_to_read(channel));
  SHOW(gc_writev(channel, spans, 1, 10, 0, false));
  SHOW(gc_readv(channel, &(gc_span){bytes, 16}, 1, 6, 0));
  SHOW(gc_move_position(channel, 0));
  int ep = gc_epoll_create();
  SHOW(gc_epoll_add(ep, channel, GC_EPOLLIN, 1));
  SHOW(gc_poll(channel, GC_EPOLLIN | GC_EPOLLOUT));
  gc_descriptor_kind kind;
  SHOW(gc_descriptor_describe(channel, &kind));
  printf("  %d %d %d %d %lld\n", kind.is_pipe, kind.is_socket, kind.is_file, kind.is_nonblocking, (long long)kind.position);
  bool seeks;
  SHOW(gc_channel_examine(outside_path("/folder/two"), 0, &seeks));
  SHOW(gc_channel_examine(outside_path("/folder"), 0, &seeks));
  SHOW(gc_channel_examine(outside_path("/folder/new"), 0, &seeks));
  SHOW(gc_channel_examine(outside_path("/folder/new"), 0100, &seeks));
  SHOW(gc_channel_examine(outside_path("/none/new"), 0100, &seeks));
  gc_close(channel), gc_close(ep);
}

static void check_processes(void) {
  title("processes");
  gc_process_end end;
  int pid = outside_start_child(), fd = gc_pidfd_open(pid), ep = gc_epoll_create();
  SHOW(fd >= 0);
  SHOW(gc_epoll_add(ep, fd, GC_EPOLLIN, 1));
  show_now("it runs", ep);
  SHOW(gc_pidfd_end(fd, &end));
  SHOW(end.has_ended);
  outside_end_child(pid, true, 15);
  show_wait("it has ended", ep, long_time);
  SHOW(gc_pidfd_end(fd, &end));
  printf("  %d %d %d\n", end.has_ended, end.was_killed, end.status);
  SHOW(gc_process_end_of(pid, &end));
  outside_reap_child(pid);
  SHOW(gc_process_end_of(pid, &end));
  SHOW(gc_pidfd_open(pid));
  SHOW(gc_pidfd_open(-1));
  gc_close(fd), gc_close(ep);
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
