// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A loop polls a socket for work, and a pipe by which it is told to look at what others have asked for. To save calls a thread writes to
// the pipe only while the loop says that it sleeps. The loop says so too late: behind its look. Repaired, before it.

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int pipe_ends[2], work[2];
static atomic_int asked, sleeps;

static void ask(void) {
  atomic_fetch_add(&asked, 1);
  if (atomic_exchange(&sleeps, 0) != 0 && write(pipe_ends[1], "!", 1) != 1) perror("write");
}

static void *give(void *context) {
  if (send(work[1], "work", 4, 0) != 4) perror("send");
  usleep(0);
  ask();
  return context;
}

static int loop(void) {
  int received = 0;
  while (1) {
    struct pollfd polled[] = {{.fd = pipe_ends[0], .events = POLLIN}, {.fd = -1}, {.fd = work[0], .events = POLLIN}};
    char bytes[16];
#ifdef REPAIRED
    atomic_store(&sleeps, 1);
    if (atomic_load(&asked) > 0) return received;
#else
    if (atomic_load(&asked) > 0) return received;
    usleep(0);
    atomic_store(&sleeps, 1);
#endif
    if (poll(polled, 3, -1) < 1 || polled[1].revents != 0) return -1;
    atomic_store(&sleeps, 0);
    if (polled[0].revents != 0 && read(pipe_ends[0], bytes, 1) != 1) return -1;
    if (polled[2].revents != 0) received += (int)recv(work[0], bytes, sizeof bytes, MSG_DONTWAIT);
  }
}

int main(void) {
  pthread_t giver;
  if (pipe2(pipe_ends, 0) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, work) != 0) return 2;
  pthread_create(&giver, NULL, give, NULL);
  int received = loop();
  pthread_join(giver, NULL);
  return received < 0;
}
