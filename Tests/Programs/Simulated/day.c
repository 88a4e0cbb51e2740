// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A day passes: in a sleep, in waits with time-outs, in a timer that fires each minute, and in dispatch_after. All clocks say so. If one
// does not, the program ends with its number.

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long long SECOND = 1000000000, HOUR = 3600;
static struct timespec begin, begin_of_wall;
static int minutes;

static void expect(int number, int condition) {
  if (!condition) exit(number);
}

static long long since(clockid_t clock, struct timespec from) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec - from.tv_sec;
}

static void count_minute(void *context) {
  (void)context;
  minutes += 1;
}

static void end(void *context) {
  (void)context;
  expect(20, since(CLOCK_MONOTONIC, begin) == 24 * HOUR);
  expect(21, since(CLOCK_REALTIME, begin_of_wall) == 24 * HOUR);
  expect(22, minutes == 19 * 60);
  puts("a day has passed");
  exit(0);
}

static struct timespec in_an_hour(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += HOUR;
  return time;
}

int main(void) {
  clock_gettime(CLOCK_MONOTONIC, &begin);
  clock_gettime(CLOCK_REALTIME, &begin_of_wall);
  time_t seconds = time(NULL);
  struct timeval of_day;
  gettimeofday(&of_day, NULL);
  expect(1, seconds == begin_of_wall.tv_sec && of_day.tv_sec == seconds);

  sleep((unsigned)HOUR);
  expect(2, since(CLOCK_MONOTONIC, begin) == HOUR && time(NULL) == seconds + HOUR);
  dispatch_semaphore_t never = dispatch_semaphore_create(0);
  expect(3, dispatch_semaphore_wait(never, dispatch_time(DISPATCH_TIME_NOW, HOUR * SECOND)) != 0);
  expect(4, since(CLOCK_MONOTONIC, begin) == 2 * HOUR);

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  struct timespec deadline = in_an_hour(CLOCK_REALTIME);
  expect(5, pthread_cond_timedwait(&condition, &mutex, &deadline) != 0);
  expect(6, since(CLOCK_MONOTONIC, begin) == 3 * HOUR);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  deadline = in_an_hour(CLOCK_REALTIME);
  expect(7, sem_timedwait(&semaphore, &deadline) != 0);
  expect(8, since(CLOCK_MONOTONIC, begin) == 4 * HOUR);
  deadline = in_an_hour(CLOCK_MONOTONIC);
  expect(9, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == 0);
  expect(10, since(CLOCK_MONOTONIC, begin) == 5 * HOUR);

  dispatch_queue_t main_queue = dispatch_get_main_queue();
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, main_queue);
  dispatch_source_set_timer(timer, dispatch_time(DISPATCH_TIME_NOW, 30 * SECOND), 60 * (uint64_t)SECOND, 0);
  dispatch_source_set_event_handler_f(timer, count_minute);
  dispatch_activate(timer);
  dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 19 * HOUR * SECOND), main_queue, NULL, end);
  dispatch_main();
}
