// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Polls of timers and event counters wait in virtual time. With an argument it waits for a counter that nobody adds to.

#include <dispatch/dispatch.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(condition)                                      \
  if (!(condition)) {                                          \
    printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
    exit(1);                                                   \
  }

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

static int wait_for(int descriptor, int milliseconds) {
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  return poll(&polled, 1, milliseconds);
}

static uint64_t value(int descriptor) {
  uint64_t count = 0;
  EXPECT(read(descriptor, &count, sizeof count) == sizeof count);
  return count;
}

static void *add_later(void *counter) {
  sleep(5);
  EXPECT(eventfd_write(*(int *)counter, 3) == 0);
  return NULL;
}

static void add(void *counter) {
  uint64_t one = 1;
  EXPECT(write(*(int *)counter, &one, sizeof one) == sizeof one);
}

int main(int count, char **words) {
  (void)words;
  int counter = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  if (count > 1) return wait_for(counter, -1);

  // Once, an hour from now; then at an instant.
  long begin = now();
  EXPECT(timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {3600, 0}}, NULL) == 0);
  struct itimerspec left;
  EXPECT(timerfd_gettime(timer, &left) == 0 && left.it_value.tv_sec >= 3599 && left.it_interval.tv_sec == 0);
  EXPECT(wait_for(timer, 1000) == 0 && wait_for(timer, -1) == 1 && value(timer) == 1);
  EXPECT(now() - begin >= 3600 && now() - begin < 3610);
  struct itimerspec at = {.it_value = {now() + 60, 0}};
  EXPECT(timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL) == 0);
  EXPECT(wait_for(timer, 20000) == 0 && wait_for(timer, 41000) == 1 && value(timer) == 1);
  EXPECT(read(timer, &left, 8) < 0 && errno == EAGAIN);

  // Again and again, until it is taken back.
  begin = now();
  EXPECT(timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {10, 0}, .it_interval = {10, 0}}, &left) == 0);
  EXPECT(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
  for (int round = 0; round < 3; round++) EXPECT(wait_for(timer, -1) == 1 && value(timer) == 1);
  EXPECT(now() - begin >= 30 && now() - begin < 40);
  EXPECT(timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL) == 0 && wait_for(timer, 60000) == 0);
  EXPECT(timerfd_settime(timer, 1234567, &(struct itimerspec){0}, NULL) < 0 && errno == EINVAL);

  // An epoll of both: another thread adds; an item adds; the timer comes; the time is over.
  int both = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = counter};
  EXPECT(epoll_ctl(both, EPOLL_CTL_ADD, counter, &event) == 0);
  event.data.fd = timer;
  EXPECT(epoll_ctl(both, EPOLL_CTL_ADD, timer, &event) == 0);
  pthread_t thread;
  pthread_create(&thread, NULL, add_later, &counter);
  EXPECT(timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {100, 0}}, NULL) == 0);
  EXPECT(epoll_wait(both, &event, 1, -1) == 1 && event.data.fd == counter && value(counter) == 3);
  dispatch_async_f(dispatch_get_global_queue(0, 0), &counter, add);
  EXPECT(epoll_pwait(both, &event, 1, -1, NULL) == 1 && event.data.fd == counter && value(counter) == 1);
  struct pollfd polled = {.fd = both, .events = POLLIN};
  EXPECT(ppoll(&polled, 1, &(struct timespec){200, 0}, NULL) == 1);
  EXPECT(epoll_wait(both, &event, 1, 0) == 1 && event.data.fd == timer && value(timer) == 1);
  EXPECT(epoll_wait(both, &event, 1, 1000) == 0);
  EXPECT(ppoll(NULL, 0, &(struct timespec){1, 0}, NULL) == 0 && poll(NULL, 0, 1000) == 0);
  pthread_join(thread, NULL);

  int ends[2];
  EXPECT(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && wait_for(ends[0], -1) == 1);
  puts("polled");
  return 0;
}
