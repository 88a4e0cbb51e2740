// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What few programs do with descriptors, threads and signals, and what all of them may. The word names a fact; without one, all are
// checked.

#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static int ends[2];
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

int main(int count, char **names) {
  static const struct fact facts[] = {
      {"blocked", blocked}, {"shut", shut},
  };
  (void)count;
  return check(facts, sizeof facts / sizeof facts[0], names);
}
