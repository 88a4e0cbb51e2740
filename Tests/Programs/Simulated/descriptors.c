// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What event counters, timers and epolls do, and what becomes of descriptors that are copied, closed or refused. The word names a fact;
// without one, all are checked.

#include "expect.h"

#include <dispatch/dispatch.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static const struct itimerspec never;
static struct itimerspec after(long milliseconds, long interval) {
  return (struct itimerspec){
      .it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000},
      .it_interval = {interval / 1000, interval % 1000 * 1000000}};
}

static int counter;
static void *add_later(void *value) {
  rest();
  EXPECT(write(counter, value, 8) == 8);
  return NULL;
}
static uint64_t value(int descriptor) {
  uint64_t number = 0;
  EXPECT(read(descriptor, &number, sizeof number) == sizeof number);
  return number;
}
static int is_ready(int descriptor, int milliseconds) {
  return poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, milliseconds);
}

static void *take_later(void *context) {
  rest();
  EXPECT(value(counter) == UINT64_MAX - 1);
  return context;
}
static void counters(void) {
  uint64_t three = 3;
  long begin = now();
  counter = eventfd(0, 0);
  pthread_t adder = start(add_later, &three);
  EXPECT(value(counter) == 3 && now() - begin >= 49);
  pthread_join(adder, NULL);
  adder = start(add_later, &three);
  EXPECT(eventfd_read(counter, &three) == 0 && three == 3);
  pthread_join(adder, NULL);
  EXPECT(read(counter, &three, 4) < 0 && errno == EINVAL);
  // There is no room for more.
  EXPECT(eventfd_write(counter, UINT64_MAX - 1) == 0);
  adder = start(take_later, NULL);
  EXPECT(eventfd_write(counter, 7) == 0 && value(counter) == 7);
  pthread_join(adder, NULL);
  close(counter);
  counter = eventfd(2, EFD_SEMAPHORE);
  int copy = dup(counter);
  EXPECT(value(counter) == 1 && value(copy) == 1 && is_ready(copy, 10) == 0);
  three = 3;
  adder = start(add_later, &three);
  EXPECT(is_ready(copy, -1) == 1 && value(copy) == 1 && value(counter) == 1 && value(copy) == 1);
  pthread_join(adder, NULL);
  close(copy);
  close(counter);
}

static void timers(void) {
  struct itimerspec left, wish = after(50, 0);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  long begin = now();
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0 && value(timer) == 1 && now() - begin >= 49);
  EXPECT(timerfd_gettime(timer, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
  EXPECT(is_ready(timer, 60) == 0);
  // What has come in between is counted.
  wish = after(20, 20);
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0);
  usleep(110000);
  EXPECT(value(timer) >= 5 && timerfd_gettime(timer, &left) == 0);
  EXPECT(left.it_interval.tv_nsec == 20000000 && left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 20000000);
  // One of another number is the same one.
  int copy = dup(timer), other = fcntl(timer, F_DUPFD, 50);
  EXPECT(close(timer) == 0 && timerfd_gettime(other, &left) == 0 && left.it_interval.tv_nsec == 20000000);
  EXPECT(value(copy) >= 1 && close(copy) == 0 && value(other) >= 1);
  wish = after(30, 0);
  EXPECT(timerfd_settime(other, 0, &wish, &left) == 0 && left.it_interval.tv_nsec == 20000000);
  // Its first number is another timer's now, which nothing has armed.
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  EXPECT(is_ready(timer, 60) == 0 && read(timer, &left, 8) < 0 && errno == EAGAIN);
  EXPECT(timerfd_gettime(timer, &left) == 0 && left.it_value.tv_nsec == 0 && value(other) == 1);
  // At an instant, which may have been; taken back; not a timer.
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  int wall = timerfd_create(CLOCK_REALTIME, 0);
  wish = (struct itimerspec){.it_value = time};
  EXPECT(timerfd_settime(wall, TFD_TIMER_ABSTIME, &wish, NULL) == 0 && value(wall) == 1);
  wish.it_value.tv_sec += 1;
  EXPECT(timerfd_settime(wall, TFD_TIMER_ABSTIME, &wish, NULL) == 0 && is_ready(wall, 10) == 0);
  EXPECT(timerfd_settime(wall, 0, &never, &left) == 0 && left.it_value.tv_nsec > 0 && is_ready(wall, 10) == 0);
  EXPECT(timerfd_settime(0, 0, &wish, NULL) < 0 && errno == EINVAL);
  EXPECT(timerfd_settime(999, 0, &wish, NULL) < 0 && errno == EBADF);
  close(wall);
  close(other);
  close(timer);
}

// One that is closed before it is due is nobody's business, and its number is an eventfd's. There may be many.
static void closed(void) {
  struct itimerspec wish = after(20, 20), later = after(60000, 0);
  int many[100];
  for (int index = 0; index < 100; index++) {
    many[index] = timerfd_create(CLOCK_MONOTONIC, 0);
    EXPECT(timerfd_settime(many[index], 0, index < 99 ? &later : &wish, NULL) == 0);
  }
  long begin = now();
  EXPECT(is_ready(many[99], -1) == 1 && now() - begin >= 19 && now() - begin < 1000);
  for (int index = 0; index < 100; index++) close(many[index]);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0 && close(timer) == 0);
  counter = eventfd(0, 0);
  EXPECT(counter == timer && is_ready(counter, 50) == 0);
  int another = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  EXPECT(timerfd_settime(another, 0, &wish, NULL) == 0 && dup2(counter, another) == another && is_ready(another, 50) == 0);
  EXPECT(close_range((unsigned)counter, (unsigned)counter, 0) == 0 && fcntl(counter, F_GETFD) < 0 && close(another) == 0);
}

static void *close_later(void *descriptor) {
  rest();
  EXPECT(close(*(int *)descriptor) == 0);
  return NULL;
}
// A timer that a thread waits for comes, also if its number has gone.
static void kept(void) {
  struct itimerspec wish = after(100, 0);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0), number = timer;
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0);
  pthread_t closer = start(close_later, &number);
  long begin = now();
  EXPECT(value(timer) == 1 && now() - begin >= 99);
  pthread_join(closer, NULL);
  EXPECT(fcntl(timer, F_GETFD) < 0);
}

static void add(int epoll, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = descriptor};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
}
static int wait_for(int epoll, int milliseconds) {
  struct epoll_event events[4];
  int count = epoll_wait(epoll, events, 4, milliseconds);
  return count == 1 ? events[0].data.fd : -count;
}
static void epolls(void) {
  int epoll = epoll_create1(0), outer = epoll_create1(EPOLL_CLOEXEC), ends[2];
  uint64_t one = 1;
  EXPECT(pipe(ends) == 0 && wait_for(epoll, 20) == 0);
  // Each change, not each state.
  add(epoll, ends[0], EPOLLIN | EPOLLET);
  EXPECT(write(ends[1], "12", 2) == 2 && wait_for(epoll, -1) == ends[0] && wait_for(epoll, 20) == 0);
  EXPECT(write(ends[1], "3", 1) == 1 && wait_for(epoll, -1) == ends[0] && wait_for(epoll, 20) == 0);
  // Once, until it is armed again; which another thread may do.
  counter = eventfd(0, 0);
  add(epoll, counter, EPOLLIN | EPOLLONESHOT);
  pthread_t adder = start(add_later, &one);
  EXPECT(wait_for(epoll, -1) == counter && wait_for(epoll, 20) == 0);
  pthread_join(adder, NULL);
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = counter};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, counter, &event) == 0 && wait_for(epoll, -1) == counter);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, counter, NULL) == 0 && value(counter) == 1);
  // One inside of another.
  add(epoll, counter, EPOLLIN);
  add(outer, epoll, EPOLLIN);
  adder = start(add_later, &one);
  EXPECT(wait_for(outer, -1) == epoll && wait_for(epoll, 0) == counter && value(counter) == 1 && wait_for(outer, 20) == 0);
  pthread_join(adder, NULL);
  // A timer that expires over and over makes one change until it is read. What an epoll watches may have lost its number.
  struct itimerspec wish = after(20, 20);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  add(epoll, timer, EPOLLIN | EPOLLET);
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0);
  for (int round = 0; round < 2; round++) EXPECT(wait_for(epoll, -1) == timer && wait_for(epoll, 50) == 0 && value(timer) >= 3);
  EXPECT(timerfd_settime(timer, 0, &never, NULL) == 0);
  int copy = dup(ends[0]);
  EXPECT(close(ends[0]) == 0 && write(ends[1], "4", 1) == 1 && wait_for(epoll, -1) == ends[0]);
  EXPECT(close(copy) == 0 && wait_for(epoll, 20) == 0);
  EXPECT(wait_for(epoll, 0) == 0 && wait_for(outer, 0) == 0 && wait_for(counter, 0) == 1 && errno == EINVAL);
  close(epoll);
  EXPECT(wait_for(epoll, -1) == 1 && errno == EBADF);
  close(outer);
  close(counter);
  close(timer);
  close(ends[1]);
}

static void lists(void) {
  struct pollfd many[40];
  for (int index = 0; index < 40; index++) many[index] = (struct pollfd){.fd = -index - 1, .events = POLLIN, .revents = 77};
  long begin = now();
  EXPECT(poll(many, 40, 30) == 0 && now() - begin >= 29 && many[3].revents == 0);
  many[39].fd = counter = eventfd(0, 0);
  many[38].fd = 999;
  EXPECT(poll(many, 40, -1) == 1 && many[38].revents == POLLNVAL && poll(many, 40, 0) == 1);
  many[38].fd = -1;
  uint64_t one = 1;
  pthread_t adder = start(add_later, &one);
  EXPECT(poll(many, 40, -1) == 1 && many[39].revents == POLLIN && many[38].revents == 0);
  pthread_join(adder, NULL);
  many[39].events = POLLOUT;
  EXPECT(poll(many, 40, 0) == 1 && many[39].revents == POLLOUT && poll(NULL, 0, 0) == 0);
  EXPECT(poll(NULL, 3, 0) < 0 && errno == EFAULT);
  close(counter);
}

// There are no more descriptors.
static void refused(void) {
  struct rlimit limit, few;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), ends[2];
  counter = eventfd(0, 0);
  add(epoll, counter, EPOLLIN);
  few = limit;
  few.rlim_cur = (rlim_t)counter + 1;
  EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
  EXPECT(pipe(ends) < 0 && errno == EMFILE && timerfd_create(CLOCK_MONOTONIC, 0) < 0 && dup(timer) < 0);
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 && errno == EMFILE);
  struct itimerspec wish = after(20, 0);
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0 && value(timer) == 1 && wait_for(epoll, 20) == 0);
  uint64_t one = 1;
  setrlimit(RLIMIT_NOFILE, &limit);
  pthread_t adder = start(add_later, &one);
  setrlimit(RLIMIT_NOFILE, &few);
  EXPECT(wait_for(epoll, -1) == counter);
  setrlimit(RLIMIT_NOFILE, &limit);
  pthread_join(adder, NULL);
  close(epoll);
  close(timer);
  close(counter);
}

// A signal that comes with the poll's mask alone ends it.
static void note(int number) { (void)number; }
static void *signal_later(void *thread) {
  rest();
  EXPECT(pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0);
  return NULL;
}
static void interrupted(void) {
  sigset_t one, none;
  pthread_t me = pthread_self();
  sigemptyset(&none);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  struct sigaction action = {.sa_handler = note};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
  counter = eventfd(0, 0);
  int epoll = epoll_create1(0);
  add(epoll, counter, EPOLLIN);
  struct pollfd polled = {.fd = counter, .events = POLLIN};
  struct epoll_event event;
  fd_set in;
  for (int way = 0; way < 4; way++) {
    pthread_t other = start(signal_later, &me);
    int result;
    FD_ZERO(&in);
    FD_SET(counter, &in);
    if (way == 0) result = ppoll(&polled, 1, NULL, &none);
    if (way == 1) result = pselect(counter + 1, &in, NULL, NULL, NULL, &none);
    if (way == 2) result = epoll_pwait(epoll, &event, 1, -1, &none);
    if (way == 3) result = ppoll(NULL, 0, NULL, &none);
    EXPECT(result == -1 && errno == EINTR);
    pthread_join(other, NULL);
  }
  close(epoll);
  close(counter);
}

// A handler that writes to a pipe runs on a thread that waits. Poll is ended by the signal, or by the pipe.
static int told[2];
static void tell(int number) {
  (void)number;
  EXPECT(write(told[1], "!", 1) == 1);
}
static void handler(void) {
  pthread_t me = pthread_self();
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  struct sigaction action = {.sa_handler = tell};
  EXPECT(pipe(told) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 && pthread_sigmask(SIG_UNBLOCK, &one, NULL) == 0);
  for (int round = 0; round < 3; round++) {
    pthread_t other = start(signal_later, &me);
    while (is_ready(told[0], -1) < 0) EXPECT(errno == EINTR);
    char byte;
    EXPECT(read(told[0], &byte, 1) == 1);
    pthread_join(other, NULL);
  }
  close(told[0]);
  close(told[1]);
}

// What others may make ready beside what the process does: a child, or nobody.
static void mixed(void) {
  int outside[2];
  char byte;
  EXPECT(pipe(outside) == 0);
  pid_t child = fork();
  if (child == 0) {
    usleep(50000);
    _exit(write(outside[1], "x", 1) != 1);
  }
  counter = eventfd(0, 0);
  int epoll = epoll_create1(0);
  add(epoll, counter, EPOLLIN);
  add(epoll, outside[0], EPOLLIN);
  EXPECT(child > 0 && wait_for(epoll, -1) == outside[0] && read(outside[0], &byte, 1) == 1);
  EXPECT(waitpid(child, NULL, 0) == child);
  uint64_t one = 1;
  pthread_t adder = start(add_later, &one);
  EXPECT(wait_for(epoll, -1) == counter && value(counter) == 1);
  pthread_join(adder, NULL);
  adder = start(add_later, &one);
  struct pollfd both[] = {{.fd = outside[0], .events = POLLIN}, {.fd = counter, .events = POLLIN}};
  EXPECT(poll(both, 2, -1) == 1 && both[1].revents == POLLIN && value(counter) == 1 && poll(both, 2, 30) == 0);
  pthread_join(adder, NULL);
  close(epoll);
  close(counter);
  close(outside[0]);
  close(outside[1]);
}

// Pipes that are closed leave nothing behind.
static size_t allocated(void) {
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}
static void forgotten(void) {
  size_t before = 0;
  for (int round = 0; round < 18000; round++) {
    int ends[2];
    // A simulation keeps no more events than so many rounds have.
    if (round == 9000) before = allocated();
    EXPECT(pipe(ends) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
  }
  EXPECT(allocated() < before + 500000);
}

// The library has a source of a timer that is the program's.
static void library(void) {
  struct itimerspec wish = after(50, 50);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  dispatch_semaphore_t fired = dispatch_semaphore_create(0);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)timer, 0, dispatch_get_global_queue(0, 0));
  dispatch_source_set_event_handler(source, ^{
    if (value(timer) >= 1) dispatch_semaphore_signal(fired);
  });
  dispatch_resume(source);
  EXPECT(timerfd_settime(timer, 0, &wish, NULL) == 0);
  for (int round = 0; round < 3; round++) EXPECT(dispatch_semaphore_wait(fired, DISPATCH_TIME_FOREVER) == 0);
  dispatch_source_cancel(source);
  rest();
  close(timer);
}

int main(int count, char **names) {
  static const struct fact facts[] = {
      {"counters", counters}, {"timers", timers}, {"closed", closed},   {"kept", kept},
      {"epolls", epolls},     {"lists", lists},   {"refused", refused}, {"interrupted", interrupted},
      {"handler", handler},   {"mixed", mixed},   {"library", library},
      {"forgotten", forgotten},
  };
  (void)count;
  return check(facts, sizeof facts / sizeof facts[0], names);
}
