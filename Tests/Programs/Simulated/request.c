// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A client asks a server over a socket pair, and waits a second for each answer. The server takes up to two. Where an answer came too
// late the client takes it for that of its next request. Repaired, it looks at the number in it.

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int ends[2];
struct message {
  int number, value;
};

static void *answer(struct message *message) {
  usleep(message->number % 2 == 0 ? 300000 : 2000000);
  message->value *= message->value;
  if (send(ends[1], message, sizeof *message, MSG_NOSIGNAL) < 0 && errno != EPIPE) perror("send");
  free(message);
  return NULL;
}
static void *answer_one(void *message) { return answer(message); }

static void *serve(void *context) {
  struct message message;
  pthread_t threads[8];
  int count = 0;
  while (recv(ends[1], &message, sizeof message, 0) == sizeof message) {
    struct message *copy = malloc(sizeof *copy);
    *copy = message;
    pthread_create(&threads[count++], NULL, answer_one, copy);
  }
  while (count > 0) pthread_join(threads[--count], NULL);
  return context;
}

static int ask(int number, int value) {
  struct message message = {number, value};
  if (send(ends[0], &message, sizeof message, 0) != sizeof message) return -2;
  while (recv(ends[0], &message, sizeof message, 0) == sizeof message) {
#ifdef REPAIRED
    if (message.number != number) continue;
#endif
    return message.value;
  }
  return errno == EAGAIN ? -1 : -2;
}

int main(void) {
  pthread_t server;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 2;
  struct timeval second = {.tv_sec = 1};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  pthread_create(&server, NULL, serve, NULL);
  int wrong = 0;
  for (int number = 0; number < 5; number++) {
    int value = ask(number, number + 10), expected = number % 2 == 0 ? (number + 10) * (number + 10) : -1;
    if (value != expected) {
      printf("request %d: %d, not %d\n", number, value, expected);
      wrong = 1;
    }
    usleep(500000);
  }
  shutdown(ends[0], SHUT_WR);
  pthread_join(server, NULL);
  return wrong;
}
