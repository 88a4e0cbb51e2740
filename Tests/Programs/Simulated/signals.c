// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Timers of the process that send signals, threads that wait for signals, and mutexes whose owners are gone.
#include "expect.h"

#include <dispatch/dispatch.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static int told[2];

static void count(int number) {
  (void)number;
  ticks += 1;
}

static void tell(int number) {
  (void)number;
  if (write(told[1], "x", 1) != 1) abort();
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  EXPECT(sigaction(number, &action, NULL) == 0);
}

/// The calling thread, and those that it starts, leave the signal to those that wait for it.
static sigset_t block(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  EXPECT(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  return set;
}

static struct itimerval every(long milliseconds, long interval) {
  return (struct itimerval){.it_value = {.tv_usec = milliseconds * 1000}, .it_interval = {.tv_usec = interval * 1000}};
}

// MARK: Timers

static void alarms(void) {
  handle(SIGALRM, count);
  long begin = now();
  EXPECT(alarm(100) == 0);
  EXPECT(alarm(1) >= 99);
  while (ticks == 0) usleep(10000);
  EXPECT(now() - begin >= 1000 && ticks == 1);
  EXPECT(alarm(0) == 0);
  ticks = 0;
}

static void intervals(void) {
  handle(SIGALRM, count);
  struct itimerval wish = every(20, 20), left;
  EXPECT(setitimer(ITIMER_REAL, &wish, NULL) == 0);
  while (ticks < 3) usleep(1000);
  EXPECT(getitimer(ITIMER_REAL, &left) == 0);
  EXPECT(left.it_interval.tv_usec == 20000 && left.it_value.tv_usec > 0 && left.it_value.tv_usec <= 20000);
  EXPECT(setitimer(ITIMER_REAL, &(struct itimerval){0}, &left) == 0);
  EXPECT(left.it_interval.tv_usec == 20000);
  EXPECT(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_usec == 0);
  wish.it_value.tv_usec = -1;
  EXPECT(setitimer(ITIMER_REAL, &wish, NULL) == -1 && errno == EINVAL);
  ticks = 0;
}

static void finish(void *context) { dispatch_semaphore_signal(context); }

static void pipes(void) {
  handle(SIGALRM, tell);
  EXPECT(pipe(told) == 0);
  struct itimerval wish = every(30, 0);
  dispatch_semaphore_t later = dispatch_semaphore_create(0);
  dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, 90 * NSEC_PER_MSEC), dispatch_get_global_queue(0, 0), later, finish);
  long begin = now();
  EXPECT(setitimer(ITIMER_REAL, &wish, NULL) == 0);
  char byte;
  EXPECT(read(told[0], &byte, 1) == 1);
  EXPECT(now() - begin >= 30);
  EXPECT(dispatch_semaphore_wait(later, DISPATCH_TIME_FOREVER) == 0);
  EXPECT(now() - begin >= 90);
}

// A handler may post a semaphore, on whatever thread it runs.
static sem_t posted;

static void post(int number) {
  (void)number;
  EXPECT(sem_post(&posted) == 0);
}

static void *take_posted(void *context) {
  while (sem_wait(&posted) != 0) EXPECT(errno == EINTR);
  return context;
}

static int take_within(int seconds) {
  struct timespec soon;
  int error;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += seconds;
  while ((error = sem_timedwait(&posted, &soon)) != 0 && errno == EINTR) continue;
  return error == 0 ? 0 : errno;
}

static void posts(void) {
  EXPECT(sem_init(&posted, 0, 0) == 0);
  handle(SIGALRM, post);
  long begin = now();
  EXPECT(alarm(1) == 0 && take_within(3) == 0 && now() - begin < 2900);
  EXPECT(alarm(2) == 0 && take_within(1) == ETIMEDOUT && take_within(3) == 0);
  pthread_t thread = start(take_posted, NULL);
  EXPECT(alarm(1) == 0);
  EXPECT(pthread_join(thread, NULL) == 0 && sem_trywait(&posted) != 0);
  EXPECT(sem_destroy(&posted) == 0);
}

// MARK: Waits

static void *take(void *context) {
  int number = 0;
  return sigwait(context, &number) == 0 ? (void *)(intptr_t)number : NULL;
}

static void *take_info(void *context) {
  siginfo_t info = {0};
  return sigwaitinfo(context, &info) == info.si_signo ? (void *)(intptr_t)info.si_signo : NULL;
}

static intptr_t joined(pthread_t thread) {
  void *result;
  EXPECT(pthread_join(thread, &result) == 0);
  return (intptr_t)result;
}

static void process(void) {
  sigset_t set = block(SIGUSR1);
  pthread_t thread = start(take, &set);
  rest();
  EXPECT(kill(getpid(), SIGUSR1) == 0);
  EXPECT(joined(thread) == SIGUSR1);
  // Also one that has come before.
  EXPECT(kill(getpid(), SIGUSR1) == 0);
  EXPECT(joined(start(take, &set)) == SIGUSR1);
}

static void directed(void) {
  sigset_t set = block(SIGUSR2);
  pthread_t one = start(take_info, &set), other = start(take_info, &set);
  EXPECT(pthread_kill(other, SIGUSR2) == 0);
  EXPECT(joined(other) == SIGUSR2);
  EXPECT(pthread_kill(one, SIGUSR2) == 0);
  EXPECT(joined(one) == SIGUSR2);
}

// By the other calls that send one.
static void queued(void) {
  sigset_t set = block(SIGUSR1);
  siginfo_t info;
  pthread_t thread = start(take_info, &set);
  rest();
  EXPECT(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 7}) == 0);
  EXPECT(joined(thread) == SIGUSR1);
  EXPECT(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 7}) == 0);
  EXPECT(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_QUEUE && info.si_value.sival_int == 7);
  thread = start(take_info, &set);
  rest();
  EXPECT(pthread_sigqueue(thread, SIGUSR1, (union sigval){0}) == 0);
  EXPECT(joined(thread) == SIGUSR1);
  EXPECT(sigqueue(getpid(), 1000, (union sigval){0}) == -1 && errno == EINVAL);
  EXPECT(pthread_sigqueue(pthread_self(), 1000, (union sigval){0}) == EINVAL);
  // To a group that has no other process.
  if (getpgrp() != getpid()) EXPECT(setpgid(0, 0) == 0);
  thread = start(take_info, &set);
  rest();
  EXPECT(killpg(getpgrp(), SIGUSR1) == 0);
  EXPECT(joined(thread) == SIGUSR1);
}

// A thread that waits for a handler. What the process is sent the main thread gets, also where the sender could take it.
static atomic_bool has_come;
static _Atomic pid_t handled_by;

static void note(int number) {
  (void)number;
  ticks += 1;
  handled_by = gettid();
}

static void *send_one(void *context) {
  rest();
  EXPECT(kill(getpid(), SIGUSR1) == 0);
  return context;
}

static void *send_many(void *context) {
  while (!has_come) {
    rest();
    if (context == NULL) EXPECT(kill(getpid(), SIGUSR1) == 0);
    if (context != NULL) EXPECT(sigqueue(getpid(), SIGUSR1, (union sigval){0}) == 0);
  }
  return NULL;
}

static void *rest_on(void *context) {
  while (!has_come) rest();
  return context;
}

static void *pause_here(void *context) {
  EXPECT(sigsuspend(context) == -1 && errno == EINTR && handled_by == gettid());
  return context;
}

static void suspended(void) {
  handle(SIGUSR1, note);
  sigset_t set = block(SIGUSR1), none, mask;
  sigemptyset(&none);
  pthread_t thread = start(send_one, NULL);
  ticks = 0;
  EXPECT(sigsuspend(&none) == -1 && errno == EINTR && ticks == 1 && handled_by == getpid());
  EXPECT(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 1);
  joined(thread);
  // One that has come before; and another thread than the main one.
  EXPECT(raise(SIGUSR1) == 0 && sigsuspend(&none) == -1 && ticks == 2);
  thread = start(pause_here, &none);
  rest();
  EXPECT(pthread_kill(thread, SIGUSR1) == 0);
  joined(thread);
  EXPECT(ticks == 3);
  EXPECT(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  for (int way = 0; way < 2; way += 1) {
    has_come = false;
    thread = start(send_many, way == 0 ? NULL : &set);
    EXPECT(pause() == -1 && errno == EINTR && handled_by == getpid());
    has_come = true;
    joined(thread);
  }
  // By a timer, beside a thread that could take it as well.
  handle(SIGALRM, note);
  EXPECT(sigaddset(&set, SIGALRM) == 0 && pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  struct itimerval wish = every(30, 30);
  has_come = false;
  thread = start(rest_on, NULL);
  long begin = now();
  EXPECT(setitimer(ITIMER_REAL, &wish, NULL) == 0);
  EXPECT(pause() == -1 && errno == EINTR && handled_by == getpid() && now() - begin >= 29);
  EXPECT(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
  has_come = true;
  joined(thread);
  ticks = 0;
}

static void timed(void) {
  sigset_t set = block(SIGUSR1);
  long begin = now();
  struct timespec time = {.tv_nsec = 30000000};
  EXPECT(sigtimedwait(&set, NULL, &time) == -1 && errno == EAGAIN);
  EXPECT(now() - begin >= 30);
  EXPECT(raise(SIGUSR1) == 0 && sigtimedwait(&set, NULL, &time) == SIGUSR1);
  time.tv_nsec = -1;
  EXPECT(sigtimedwait(&set, NULL, &time) == -1 && errno == EINVAL);
}

static void by_timer(void) {
  sigset_t set = block(SIGALRM);
  struct itimerval wish = every(30, 30);
  long begin = now();
  EXPECT(setitimer(ITIMER_REAL, &wish, NULL) == 0);
  for (int round = 0; round < 3; round += 1) EXPECT(joined(start(take, &set)) == SIGALRM);
  EXPECT(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
  EXPECT(now() - begin >= 90);
  sigtimedwait(&set, NULL, &(struct timespec){0});
}

static void cancelled(void) {
  sigset_t set = block(SIGUSR1);
  pthread_t thread = start(take, &set);
  rest();
  EXPECT(pthread_cancel(thread) == 0);
  EXPECT((void *)joined(thread) == PTHREAD_CANCELED);
}

// MARK: Robust mutexes

static void *lock_and_leave(void *mutex) {
  EXPECT(pthread_mutex_lock(mutex) == 0);
  rest();
  return NULL;
}

static void make_robust(pthread_mutex_t *mutex) {
  pthread_mutexattr_t attributes;
  EXPECT(pthread_mutexattr_init(&attributes) == 0);
  EXPECT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  EXPECT(pthread_mutex_init(mutex, &attributes) == 0);
}

static void robust(void) {
  pthread_mutex_t mutex;
  make_robust(&mutex);
  for (int round = 0; round < 3; round += 1) {
    pthread_t thread = start(lock_and_leave, &mutex);
    // Its owner is gone; goes while this thread waits; or has just gone.
    if (round == 0) joined(thread);
    else usleep(round == 1 ? 25000 : 50000);
    EXPECT(pthread_mutex_lock(&mutex) == EOWNERDEAD);
    EXPECT(pthread_mutex_consistent(&mutex) == 0);
    EXPECT(pthread_mutex_unlock(&mutex) == 0);
    if (round > 0) joined(thread);
  }
  EXPECT(pthread_mutex_destroy(&mutex) == 0);
}

// Unlocked as it was found, it is locked by no thread any more: neither by one that waits, nor later.
static void *lock_in_vain(void *mutex) {
  EXPECT(pthread_mutex_lock(mutex) == ENOTRECOVERABLE);
  return NULL;
}

static void lost(void) {
  pthread_mutex_t mutex;
  make_robust(&mutex);
  joined(start(lock_and_leave, &mutex));
  EXPECT(pthread_mutex_lock(&mutex) == EOWNERDEAD);
  pthread_t thread = start(lock_in_vain, &mutex);
  rest();
  EXPECT(pthread_mutex_unlock(&mutex) == 0);
  joined(thread);
  for (int round = 0; round < 2; round += 1) lock_in_vain(&mutex);
  EXPECT(pthread_mutex_destroy(&mutex) == 0);
}

// The second owner goes as the first one went.
static void *take_over_and_leave(void *mutex) {
  EXPECT(pthread_mutex_lock(mutex) == EOWNERDEAD);
  post(0);
  rest();
  return NULL;
}

static void left_twice(void) {
  pthread_mutex_t mutex;
  make_robust(&mutex);
  EXPECT(sem_init(&posted, 0, 0) == 0);
  joined(start(lock_and_leave, &mutex));
  pthread_t thread = start(take_over_and_leave, &mutex);
  take_posted(NULL);
  EXPECT(pthread_mutex_lock(&mutex) == EOWNERDEAD);
  EXPECT(pthread_mutex_consistent(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  joined(thread);
  EXPECT(pthread_mutex_destroy(&mutex) == 0 && sem_destroy(&posted) == 0);
}

static const struct fact facts[] = {
  {"alarms", alarms}, {"intervals", intervals}, {"pipes", pipes}, {"posts", posts}, {"process", process},
  {"directed", directed}, {"queued", queued}, {"suspended", suspended}, {"timed", timed}, {"timer", by_timer},
  {"cancelled", cancelled}, {"robust", robust}, {"lost", lost},
  {"left_twice", left_twice},
};

int main(int count, char **names) {
  (void)count;
  return check(facts, sizeof facts / sizeof facts[0], names);
}
