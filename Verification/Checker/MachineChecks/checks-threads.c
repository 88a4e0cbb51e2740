// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The second half of the list: threads, signals, files, processes.

#include "checks.h"

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

void check_futexes(void) {
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
    // Tries until the sleeper waits.
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

void check_threads(void) {
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

void check_signals(void) {
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

void check_files(void) {
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
  uint64_t identity[4], birth[2];
  SHOW(gc_file_identity(channel, &identity[0], &identity[1], &birth[0]));
  int again = gc_channel_open(outside_path("/folder/two"), 2, 0);
  SHOW(gc_file_identity(again, &identity[2], &identity[3], &birth[1]));
  SHOW(identity[0] == identity[2] && identity[1] == identity[3] && birth[0] == birth[1]);
  gc_close(again);
  SHOW(gc_file_identity(again, &identity[2], &identity[3], &birth[1]));
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

void check_processes(void) {
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
