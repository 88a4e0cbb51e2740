// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Right programs, each of which waits in a way that the C library has. The first argument says which. One that is accused ends with
// another code than 0.

#include <dispatch/dispatch.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, SECOND = 1000000000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int count;

static void expect(int number, bool is_true) {
  if (is_true) return;
  printf("number %d\n", number);
  exit(number);
}

static struct timespec in_seconds(clockid_t clock, int seconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += seconds;
  return time;
}

static void run(void *(*body)(void *)) {
  pthread_t threads[THREADS];
  for (int index = 0; index < THREADS; index += 1) pthread_create(&threads[index], NULL, body, NULL);
  for (int index = 0; index < THREADS; index += 1) pthread_join(threads[index], NULL);
}

// Items: one waits, and another one ends that.
static void wait_for(void *semaphore) { dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER); }
static void signal_to(void *semaphore) { dispatch_semaphore_signal(semaphore); }

// A thread that waits for the one that makes a value lets it go on.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void make(void) {
  usleep(10);
  count += 1;
}
static void *use(void *context) {
  pthread_once(&once, make);
  expect(1, count == 1);
  return context;
}

// The destructor of what a thread keeps wakes the main thread.
static pthread_key_t key;
static void end_of_thread(void *context) {
  pthread_mutex_lock(&mutex);
  count += context == &key;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}
static void *keep(void *context) {
  pthread_setspecific(key, &key);
  return context;
}
static void keys(void) {
  pthread_key_create(&key, end_of_thread);
  for (int index = 0; index < THREADS; index += 1) {
    pthread_t thread;
    pthread_create(&thread, NULL, keep, NULL);
    pthread_detach(thread);
  }
  pthread_mutex_lock(&mutex);
  while (count < THREADS) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

// The process goes on without its main thread.
static void *late(void *context) {
  sleep(1);
  puts("a thread has ended");
  return context;
}

static pthread_spinlock_t spinlock;
static void *spin(void *context) {
  while (pthread_mutex_trylock(&mutex) != 0) continue;
  count += 1;
  usleep(1);
  pthread_mutex_unlock(&mutex);
  pthread_spin_lock(&spinlock);
  usleep(1);
  pthread_spin_unlock(&spinlock);
  return context;
}

static void *end_late(void *context) {
  sleep(1);
  *(volatile bool *)context = true;
  return context;
}
static void yield(int (*body)(void)) {
  pthread_t thread;
  volatile bool is_done = false;
  pthread_create(&thread, NULL, end_late, (void *)&is_done);
  while (!is_done) body();
  pthread_join(thread, NULL);
}
static int sleep_for_nothing(void) { return usleep(0); }

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static void *read_shared(void *context) {
  struct timespec soon = in_seconds(CLOCK_REALTIME, 5);
  expect(20, pthread_rwlock_timedrdlock(&shared, &soon) == ETIMEDOUT);
  soon = in_seconds(CLOCK_MONOTONIC, 5);
  expect(21, pthread_rwlock_clockwrlock(&shared, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  soon = in_seconds(CLOCK_REALTIME, 50);
  expect(22, pthread_rwlock_timedwrlock(&shared, &soon) == 0 && pthread_rwlock_unlock(&shared) == 0);
  return context;
}
// A lock that prefers writers has readers wait while a writer waits, and no longer; another one does not.
static pthread_rwlock_t preferring = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static void *write_in_vain(void *lock) {
  struct timespec soon = in_seconds(CLOCK_REALTIME, 5);
  expect(24, pthread_rwlock_timedwrlock(lock, &soon) == ETIMEDOUT);
  return NULL;
}
static void read_again(pthread_rwlock_t *lock, bool prefers_writers) {
  pthread_t thread;
  expect(25, pthread_rwlock_rdlock(lock) == 0);
  pthread_create(&thread, NULL, write_in_vain, lock);
  sleep(1);
  time_t begin = time(NULL);
  expect(26, pthread_rwlock_tryrdlock(lock) == (prefers_writers ? EBUSY : 0));
  expect(27, pthread_rwlock_rdlock(lock) == 0 && (time(NULL) - begin >= 3) == prefers_writers);
  sleep(10);
  for (int count = prefers_writers ? 2 : 3; count > 0; count -= 1) pthread_rwlock_unlock(lock);
  pthread_join(thread, NULL);
}
static void share(void) {
  pthread_t reader;
  pthread_rwlock_wrlock(&shared);
  expect(23, pthread_rwlock_rdlock(&shared) == EDEADLK && pthread_rwlock_tryrdlock(&shared) == EBUSY);
  pthread_create(&reader, NULL, read_shared, NULL);
  sleep(20);
  pthread_rwlock_unlock(&shared);
  pthread_join(reader, NULL);
  read_again(&shared, false);
  read_again(&preferring, true);
}

static pthread_barrier_t barrier;
static void *meet(void *context) {
  for (int round = 1; round <= 2; round += 1) {
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&barrier);
    expect(30, count == round * THREADS);
    pthread_barrier_wait(&barrier);
  }
  return context;
}

// Cancelled: in a sleep, and while it waits for a condition, whose mutex it has locked then.
static void unlock(void *context) { expect(40, pthread_mutex_unlock(context) == 0); }
static void *sleep_on(void *context) {
  while (true) sleep(1000);
  return context;
}
static void *wait_on(void *context) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  while (true) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
  return context;
}
static void cancel(void *(*body)(void *)) {
  pthread_t thread;
  void *result;
  pthread_create(&thread, NULL, body, NULL);
  usleep(5);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  expect(41, result == PTHREAD_CANCELED);
}

// One that is chosen, and is cancelled before it goes on, leaves that to the next one.
static bool is_open;
static sem_t gate;
static void *pass_condition(void *context) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  while (!is_open) pthread_cond_wait(&condition, &mutex);
  pthread_cond_signal(&condition);
  pthread_cleanup_pop(1);
  return context;
}
static void *pass_gate(void *context) {
  sem_wait(&gate);
  sem_post(&gate);
  return context;
}
static void cancel_chosen(void *(*body)(void *)) {
  pthread_t first, second;
  pthread_create(&first, NULL, body, NULL);
  usleep(5);
  pthread_create(&second, NULL, body, NULL);
  usleep(5);
  pthread_mutex_lock(&mutex);
  is_open = true;
  if (body == pass_gate) sem_post(&gate);
  if (body == pass_condition) pthread_cond_signal(&condition);
  pthread_cancel(first);
  pthread_mutex_unlock(&mutex);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
}

// A robust mutex is lost to all that wait for it, if it is unlocked and not made consistent.
static pthread_mutex_t robust;
static void *leave_locked(void *context) {
  expect(90, pthread_mutex_lock(&robust) == 0);
  return context;
}
static void *lose(void *context) {
  expect(91, pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
  return context;
}
static void lose_all(void) {
  pthread_t owner, first, second;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  pthread_create(&owner, NULL, leave_locked, NULL);
  pthread_join(owner, NULL);
  expect(92, pthread_mutex_lock(&robust) == EOWNERDEAD);
  pthread_create(&first, NULL, lose, NULL);
  pthread_create(&second, NULL, lose, NULL);
  sleep(1);
  expect(93, pthread_mutex_unlock(&robust) == 0);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
}

// What is no instant is none here either.
static void codes(void) {
  struct timespec none = {.tv_sec = 5, .tv_nsec = 2 * SECOND}, soon = in_seconds(CLOCK_MONOTONIC, 2);
  pthread_mutex_lock(&mutex);
  expect(50, pthread_mutex_timedlock(&mutex, &none) == EINVAL);
  expect(51, pthread_cond_timedwait(&condition, &mutex, &none) == EINVAL);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect(52, sem_timedwait(&semaphore, &none) != 0 && errno == EINVAL);
  expect(53, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &soon) != 0 && errno == ETIMEDOUT);
}

// Without descriptors these two are sleeps.
static void sleeps(void) {
  struct timespec begin;
  timespec_get(&begin, TIME_UTC);
  expect(60, begin.tv_sec == time(NULL));
  struct timeval hour = {3600, 0};
  select(0, NULL, NULL, NULL, &hour);
  poll(NULL, 0, 3600 * 1000);
  expect(61, time(NULL) == begin.tv_sec + 2 * 3600);
  // Nothing is known of a zone, and that is said.
  struct timezone zone = {77, 77};
  struct timeval seen;
  expect(62, gettimeofday(&seen, &zone) == 0 && seen.tv_sec == begin.tv_sec + 2 * 3600);
  expect(63, zone.tz_minuteswest == 0 && zone.tz_dsttime == 0);
}

// An instant of the wall clock that is long ago has passed, in whatever year the simulation begins. The uptime clock has others.
static void past(void) {
  time_t begin = time(NULL);
  struct timespec hour_ago = in_seconds(CLOCK_REALTIME, -3600), first = {.tv_sec = 1};
  pthread_mutex_lock(&mutex);
  expect(80, pthread_cond_timedwait(&condition, &mutex, &hour_ago) == ETIMEDOUT);
  expect(81, pthread_cond_clockwait(&condition, &mutex, CLOCK_REALTIME, &first) == ETIMEDOUT);
  expect(82, pthread_mutex_timedlock(&mutex, &hour_ago) == ETIMEDOUT);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect(83, sem_timedwait(&semaphore, &hour_ago) != 0 && errno == ETIMEDOUT);
  expect(84, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &hour_ago, NULL) == 0);
  struct itimerspec wish = {.it_value = hour_ago};
  uint64_t count = 0;
  int timer = timerfd_create(CLOCK_REALTIME, 0);
  expect(85, timerfd_settime(timer, TFD_TIMER_ABSTIME, &wish, NULL) == 0 && read(timer, &count, 8) == 8 && count == 1);
  expect(86, time(NULL) - begin < 2);
  struct timespec soon = in_seconds(CLOCK_MONOTONIC, 5);
  pthread_condattr_t attributes;
  pthread_cond_t uptime;
  pthread_condattr_init(&attributes);
  expect(87, pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&uptime, &attributes) == 0);
  expect(88, pthread_cond_timedwait(&uptime, &mutex, &soon) == ETIMEDOUT && time(NULL) - begin >= 5);
}

// The same by the names of C11.
static mtx_t c11_mutex;
static cnd_t c11_condition;
static once_flag c11_once = ONCE_FLAG_INIT;
static int count_c11(void *context) {
  call_once(&c11_once, make);
  mtx_lock(&c11_mutex);
  thrd_sleep(&(struct timespec){.tv_sec = 1}, NULL);
  count += context == &count;
  cnd_broadcast(&c11_condition);
  mtx_unlock(&c11_mutex);
  thrd_exit(7);
}
static void c11(void) {
  thrd_t threads[THREADS];
  struct timespec hour;
  expect(70, mtx_init(&c11_mutex, mtx_timed) == thrd_success && cnd_init(&c11_condition) == thrd_success);
  for (int index = 0; index < THREADS; index += 1) thrd_create(&threads[index], count_c11, &count);
  mtx_lock(&c11_mutex);
  while (count < THREADS + 1) cnd_wait(&c11_condition, &c11_mutex);
  timespec_get(&hour, TIME_UTC);
  hour.tv_sec += 3600;
  expect(71, cnd_timedwait(&c11_condition, &c11_mutex, &hour) == thrd_timedout && time(NULL) == hour.tv_sec);
  mtx_unlock(&c11_mutex);
  for (int index = 0; index < THREADS; index += 1) {
    int result;
    expect(72, thrd_join(threads[index], &result) == thrd_success && result == 7);
  }
}

int main(int argument_count, char **arguments) {
  const char *way = argument_count > 1 ? arguments[1] : "";
  if (strcmp(way, "once") == 0) run(use);
  if (strcmp(way, "keys") == 0) keys();
  if (strcmp(way, "leave") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, late, NULL);
    pthread_exit(NULL);
  }
  if (strcmp(way, "outlive") == 0) {
    // A worker waits for minutes behind the end of main, and goes on.
    dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    dispatch_async_f(dispatch_queue_create("behind", NULL), semaphore, wait_for);
    dispatch_after_f(
        dispatch_time(DISPATCH_TIME_NOW, 200 * (int64_t)SECOND),
        dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), semaphore, signal_to);
    pthread_exit(NULL);
  }
  if (strcmp(way, "spin") == 0) {
    pthread_spin_init(&spinlock, 0);
    run(spin);
  }
  if (strcmp(way, "yield") == 0) {
    yield(sched_yield);
    yield(sleep_for_nothing);
  }
  if (strcmp(way, "share") == 0) share();
  if (strcmp(way, "meet") == 0) {
    pthread_barrier_init(&barrier, NULL, THREADS);
    run(meet);
    pthread_barrier_destroy(&barrier);
  }
  if (strcmp(way, "cancel") == 0) {
    cancel(sleep_on);
    cancel(wait_on);
    sem_init(&gate, 0, 0);
    cancel_chosen(pass_condition);
    cancel_chosen(pass_gate);
  }
  if (strcmp(way, "lose") == 0) lose_all();
  if (strcmp(way, "codes") == 0) codes();
  if (strcmp(way, "sleeps") == 0) sleeps();
  if (strcmp(way, "past") == 0) past();
  if (strcmp(way, "c11") == 0) c11();
  if (strcmp(way, "quick") == 0) quick_exit(0);
  return 0;
}
