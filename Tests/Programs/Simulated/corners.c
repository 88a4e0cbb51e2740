// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What few programs do with descriptors, threads and signals, and what all of them may. The word names a fact; without one, all are
// checked.

#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static int ends[2], passed[2];
static void make_pair(int type) { EXPECT(socketpair(AF_UNIX, type, 0, ends) == 0); }
static void close_both(int both[2]) { EXPECT(close(both[0]) == 0 && close(both[1]) == 0); }

// A signal that all threads block waits for one that takes it, or for a thread that lets it through.
static _Atomic pid_t handled_by;
static void handle(int number) {
  (void)number;
  handled_by = gettid();
}
static void *signal_all(void *context) {
  rest();
  EXPECT(kill(getpid(), SIGUSR2) == 0);
  return context;
}
static void blocked(void) {
  sigset_t one, now;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  EXPECT(pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
  int number;
  pthread_join(start(signal_all, NULL), NULL);
  EXPECT(sigpending(&now) == 0 && sigismember(&now, SIGUSR2) && sigwait(&one, &number) == 0 && number == SIGUSR2);
  struct signalfd_siginfo news;
  int signals = signalfd(-1, &one, SFD_CLOEXEC);
  pthread_t other = start(signal_all, NULL);
  EXPECT(pipe(ends) == 0);
  struct pollfd both[] = {{.fd = ends[0], .events = POLLIN}, {.fd = signals, .events = POLLIN}};
  EXPECT(poll(both, 2, -1) == 1 && read(signals, &news, sizeof news) == sizeof news && news.ssi_signo == SIGUSR2);
  pthread_join(other, NULL);
  EXPECT(close(signals) == 0);
  close_both(ends);
  struct sigaction action = {.sa_handler = handle};
  EXPECT(sigaction(SIGUSR2, &action, NULL) == 0);
  pthread_join(start(signal_all, NULL), NULL);
  EXPECT(handled_by == 0 && pthread_sigmask(SIG_UNBLOCK, &one, NULL) == 0 && handled_by == gettid());
}

// A datagram socket that takes no more says so to a call that would wait.
static void *shut_later(void *context) {
  rest();
  EXPECT(shutdown(ends[0], SHUT_RD) == 0);
  return context;
}
static void shut(void) {
  char bytes[4];
  make_pair(SOCK_DGRAM);
  pthread_t other = start(shut_later, NULL);
  long begin = now();
  EXPECT(read(ends[0], bytes, 4) == 0 && now() - begin >= 49);
  pthread_join(other, NULL);
  EXPECT(recv(ends[0], bytes, 4, 0) == 0 && recv(ends[0], bytes, 4, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  EXPECT(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && recv(ends[0], bytes, 4, 0) < 0 && errno == EAGAIN);
  close_both(ends);
}

// Descriptors end the part of a stream with which they come, however much is wanted.
static void send_two(int descriptor) {
  char room[CMSG_SPACE(sizeof descriptor)] = {0};
  struct iovec part = {"xy", 2};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    *rights = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  EXPECT(sendmsg(ends[1], &message, 0) == 2);
  rest();
}
/// So many come, and a descriptor or none.
static int take_all(size_t count, ssize_t expected) {
  char bytes[8], room[CMSG_SPACE(sizeof(int))];
  struct iovec part = {bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  EXPECT(recvmsg(ends[0], &message, MSG_WAITALL) == expected);
  struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
  int received = -1;
  if (rights != NULL) memcpy(&received, CMSG_DATA(rights), sizeof received);
  return received;
}
static void *send_parts(void *place) {
  rest();
  for (int part = 0; part < 3; part++) send_two(part == *(int *)place ? passed[1] : -1);
  return NULL;
}
static void together(void) {
  EXPECT(pipe(passed) == 0);
  make_pair(SOCK_STREAM);
  for (int place = 0; place < 3; place++) {
    pthread_t other = start(send_parts, &place);
    ssize_t first = 2 * place + 2;
    int received = take_all(6, first);
    EXPECT(received >= 0 && write(received, "!", 1) == 1 && close(received) == 0);
    if (first < 6) EXPECT(take_all((size_t)(6 - first), 6 - first) == -1);
    pthread_join(other, NULL);
  }
  close_both(ends);
  close_both(passed);
}

// What is on its way is open, and stays what it is, however many others come and go.
static void *write_passed(void *context) {
  rest();
  EXPECT(write(passed[1], "x", 1) == 1);
  return context;
}
static void on_its_way(void) {
  char byte;
  int others[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, passed) == 0);
  make_pair(SOCK_STREAM);
  send_two(passed[0]);
  EXPECT(close(passed[0]) == 0);
  for (int count = 0; count < 200; count++) {
    EXPECT(pipe(others) == 0);
    close_both(others);
  }
  passed[0] = take_all(2, 2);
  pthread_t other = start(write_passed, NULL);
  EXPECT(read(passed[0], &byte, 1) == 1);
  pthread_join(other, NULL);
  close_both(ends);
  close_both(passed);
}

// The socket says what is enough.
static void *send_slowly(void *context) {
  for (int count = 0; count < 6; count++) {
    rest();
    EXPECT(send(ends[1], "x", 1, 0) == 1);
  }
  return context;
}
static void least(void) {
  char bytes[8];
  int few = 4;
  make_pair(SOCK_STREAM);
  EXPECT(setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &few, sizeof few) == 0);
  pthread_t other = start(send_slowly, NULL);
  EXPECT(recv(ends[0], bytes, 8, 0) == 4 && recv(ends[0], bytes, 2, 0) == 2);
  pthread_join(other, NULL);
  close_both(ends);
}

// Ends of threads that are waited for until an instant, or asked for.
static void *read_one(void *context) {
  char byte;
  EXPECT(read(ends[0], &byte, 1) == 1);
  return context;
}
static struct timespec in_a_second(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 1;
  return time;
}
static void joins(void) {
  EXPECT(pipe(ends) == 0);
  for (int way = 0; way < 3; way++) {
    void *result = NULL;
    pthread_t other = start(read_one, &ends);
    EXPECT(pthread_tryjoin_np(other, NULL) == EBUSY && pthread_join(pthread_self(), NULL) == EDEADLK);
    struct timespec soon = in_a_second(CLOCK_REALTIME), uptime = in_a_second(CLOCK_MONOTONIC);
    EXPECT(way != 0 || pthread_timedjoin_np(other, NULL, &soon) == ETIMEDOUT);
    EXPECT(way != 1 || pthread_clockjoin_np(other, NULL, CLOCK_MONOTONIC, &uptime) == ETIMEDOUT);
    EXPECT(write(ends[1], "x", 1) == 1);
    if (way == 0) EXPECT(pthread_timedjoin_np(other, &result, NULL) == 0);
    if (way == 1) EXPECT(pthread_clockjoin_np(other, &result, CLOCK_REALTIME, NULL) == 0);
    while (way == 2 && pthread_tryjoin_np(other, &result) == EBUSY) continue;
    EXPECT(result == &ends);
  }
  close_both(ends);
}

// A thread that was started before main, and takes no part, is asked for without a wait.
static pthread_t early;
static _Atomic bool may_end;
static void *end_when_told(void *context) {
  while (!may_end) usleep(1000);
  return context;
}
__attribute__((constructor)) static void start_early(int count, char **names) {
  if (count > 1 && strcmp(names[1], "early_join") == 0) early = start(end_when_told, &early);
}
static void early_join(void) {
  void *result = NULL;
  // Beside other facts there is none.
  if (early == 0) early = start(end_when_told, &early);
  EXPECT(pthread_tryjoin_np(early, &result) == EBUSY);
  may_end = true;
  EXPECT(pthread_join(early, &result) == 0 && result == &early);
}

// A thread that looks over and over, and never waits, sees what others do later.
static void looks(void) {
  char bytes[8];
  int available = 0;
  make_pair(SOCK_STREAM);
  for (int way = 0; way < 3; way++) {
    pthread_t other = start(send_slowly, NULL);
    while (way == 0 && recv(ends[0], bytes, 8, MSG_PEEK) < 4) continue;
    while (way == 1 && available < 4) EXPECT(ioctl(ends[0], FIONREAD, &available) == 0);
    // One of the two is always ready.
    struct pollfd both[] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}};
    while (way == 2 && (both[0].revents & POLLIN) == 0) EXPECT(poll(both, 2, -1) >= 1);
    pthread_join(other, NULL);
    EXPECT(recv(ends[0], bytes, 6, MSG_WAITALL) == 6);
  }
  close_both(ends);
  struct itimerspec left = {.it_value = {.tv_nsec = 50000000}};
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  EXPECT(timerfd_settime(timer, 0, &left, NULL) == 0);
  while (left.it_value.tv_nsec > 0) EXPECT(timerfd_gettime(timer, &left) == 0);
  EXPECT(close(timer) == 0);
}

// What a thread does by the C library alone is seen before all are taken to wait for ever.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool has_read;
static void *read_and_tell(void *context) {
  read_one(context);
  pthread_mutex_lock(&mutex);
  has_read = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return context;
}
static void unseen(void) {
  EXPECT(pipe(ends) == 0);
  pthread_t other = start(read_and_tell, NULL);
  pthread_mutex_lock(&mutex);
  rest();
  EXPECT(dprintf(ends[1], "x") == 1);
  while (!has_read) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
  close_both(ends);
}

// A child comes to have what a thread waits for, and ends the wait, or this process does.
static void forked(void) {
  for (int way = 0; way < 2; way++) {
    EXPECT(pipe(ends) == 0);
    pthread_t other = start(read_one, NULL);
    rest();
    pid_t child = fork();
    if (child == 0) _exit(way == 0 && write(ends[1], "x", 1) != 1);
    if (way == 1) EXPECT(write(ends[1], "x", 1) == 1);
    pthread_join(other, NULL);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    close_both(ends);
  }
}

// A child that has its memory in common with this process has descriptors of its own.
static void *wait_for_timer(void *timer) {
  uint64_t count = 0;
  EXPECT(read(*(int *)timer, &count, sizeof count) == sizeof count && count == 1);
  return NULL;
}
static void vforked(void) {
  struct itimerspec soon = {.it_value = {.tv_nsec = 90000000}}, later = {.it_value = {.tv_sec = 1}};
  int timers[2], status;
  for (int index = 0; index < 2; index++) EXPECT((timers[index] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0);
  EXPECT(timerfd_settime(timers[0], 0, &soon, NULL) == 0 && timerfd_settime(timers[1], 0, &later, NULL) == 0);
  pthread_t other = start(wait_for_timer, &timers[0]);
  rest();
  pid_t child = vfork();
  if (child == 0) {
    dup2(timers[1], timers[0]);
    close(timers[1]);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
  }
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  pthread_join(other, NULL);
  wait_for_timer(&timers[1]);
  close_both(timers);
}

// An epoll that a thread waits for comes to watch what the kernel makes ready.
static int signals;
static void *watch_later(void *epoll) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec soon = {.it_value = {.tv_nsec = 50000000}};
  rest();
  EXPECT(epoll_ctl(*(int *)epoll, EPOLL_CTL_ADD, signals, &(struct epoll_event){.events = EPOLLIN, .data.fd = signals}) == 0);
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0);
  return timer;
}
static void joined_late(void) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  EXPECT(pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  signals = signalfd(-1, &one, SFD_CLOEXEC);
  pthread_t other = start(watch_later, &epoll);
  struct epoll_event event;
  struct signalfd_siginfo news;
  EXPECT(epoll_wait(epoll, &event, 1, -1) == 1 && event.data.fd == signals);
  EXPECT(read(signals, &news, sizeof news) == sizeof news && news.ssi_signo == SIGUSR1);
  void *timer;
  EXPECT(pthread_join(other, &timer) == 0 && timer_delete(timer) == 0);
  EXPECT(close(epoll) == 0 && close(signals) == 0);
}

// A thread that may be cancelled at any time is cancelled where it waits.
static void *read_boldly(void *context) {
  int former;
  EXPECT(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &former) == 0 && former == PTHREAD_CANCEL_DEFERRED);
  EXPECT(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &former) == 0 && former == PTHREAD_CANCEL_ASYNCHRONOUS);
  EXPECT(pthread_setcanceltype(7, NULL) == EINVAL);
  return read_one(context);
}
static void at_once(void) {
  EXPECT(pipe(ends) == 0);
  pthread_t other = start(read_boldly, NULL);
  rest();
  void *result;
  EXPECT(pthread_cancel(other) == 0 && pthread_join(other, &result) == 0 && result == PTHREAD_CANCELED);
  close_both(ends);
}

// Threads that wait for a word are led to another one, or are woken by a mask.
static _Atomic uint32_t word, another;
static void *await_word(void *context) {
  while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
  return context;
}
static void requeued(void) {
  for (int way = 0; way < 2; way++) {
    word = 0;
    pthread_t one = start(await_word, NULL), other = start(await_word, NULL);
    rest();
    word = 1;
    EXPECT(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 9L, &another, 7) < 0 && errno == EAGAIN);
    EXPECT(syscall(SYS_futex, &word, way == 0 ? FUTEX_REQUEUE_PRIVATE : FUTEX_CMP_REQUEUE_PRIVATE, 1, 9L, &another, 1) <= 2);
    EXPECT(syscall(SYS_futex, &another, FUTEX_WAKE_PRIVATE, 9) >= 0);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
  }
}
static void *await_bit(void *bit) {
  uint32_t mask = *(uint32_t *)bit, seen;
  while (((seen = word) & mask) == 0) syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, seen, NULL, NULL, mask);
  return NULL;
}
static void masked(void) {
  uint32_t bits[] = {1, 2};
  pthread_t threads[2];
  word = 0;
  for (int index = 0; index < 2; index++) {
    threads[index] = start(await_bit, &bits[index]);
    rest();
  }
  EXPECT(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0) < 0 && errno == EINVAL);
  for (int index = 1; index >= 0; index--) {
    word |= bits[index];
    EXPECT(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, bits[index]) <= 1);
    pthread_join(threads[index], NULL);
  }
}

int main(int count, char **names) {
  static const struct fact facts[] = {
      {"blocked", blocked}, {"shut", shut},   {"together", together}, {"least", least},
      {"joins", joins},     {"looks", looks}, {"unseen", unseen},     {"forked", forked},
      {"at_once", at_once}, {"joined_late", joined_late}, {"on_its_way", on_its_way},
      {"early_join", early_join}, {"vforked", vforked}, {"requeued", requeued}, {"masked", masked},
  };
  (void)count;
  return check(facts, sizeof facts / sizeof facts[0], names);
}
