// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A thousand queues, all with the low-priority global queue as their target, send messages to each other: each queue one to every
// queue. Prints the time and the processor time of a message in nanoseconds.
//
//   all_to_all burst     each queue sends all of its messages in one item
//   all_to_all relay     each message is sent on, to another queue each time, until it has visited all of them
//   all_to_all answers   as burst, and each message is answered by an item of a more urgent global queue

#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUEUES = 1000 };

/// A queue, and how many messages have come; only its own items count.
struct place {
  dispatch_queue_t queue;
  long received;
};

/// What is sent on. Each has a step of its own, so that the messages' ways differ.
struct message {
  long at, step, left;
};

static struct place places[QUEUES];
static struct message messages[QUEUES];
static dispatch_queue_t urgent;
static dispatch_group_t running;
/// Queues of which each sends a message to every queue.
static long senders;
static atomic_long answered;

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void receive(void *context) {
  struct place *place = context;
  if (++place->received == senders) dispatch_group_leave(running);
}

static void send_to_all(void *context) {
  dispatch_function_t received = *(dispatch_function_t *)context;
  for (int i = 0; i < QUEUES; i++) dispatch_async_f(places[i].queue, &places[i], received);
}

static void note_answer(void *context) {
  (void)context;
  if (atomic_fetch_add_explicit(&answered, 1, memory_order_relaxed) + 1 == senders * QUEUES) dispatch_group_leave(running);
}

static void receive_and_answer(void *context) {
  dispatch_async_f(urgent, NULL, note_answer);
  receive(context);
}

static void send_on(void *context) {
  struct message *message = context;
  struct place *place = &places[message->at];
  if (--message->left > 0) {
    message->at = (message->at + message->step) % QUEUES;
    dispatch_async_f(places[message->at].queue, message, send_on);
  }
  receive(place);
}

/// The message of a queue that is sent on: it visits all queues, as its step has no factor in common with their count.
static struct message *relayed(long i) {
  long step = 2 * i + 1;
  while (step % 5 == 0) step += 2;
  messages[i] = (struct message){.at = i, .step = step, .left = QUEUES};
  return &messages[i];
}

static dispatch_function_t plain_receiver = receive, answering_receiver = receive_and_answer;

/// So many queues send a message to each queue.
static void exchange(long count, const char *kind) {
  int relay = strcmp(kind, "relay") == 0, answers = strcmp(kind, "answers") == 0;
  senders = count;
  answered = 0;
  for (int i = 0; i < QUEUES + answers; i++) dispatch_group_enter(running);
  for (long i = 0; i < count; i++) {
    if (relay) {
      dispatch_async_f(places[i].queue, relayed(i), send_on);
    } else {
      dispatch_async_f(places[i].queue, answers ? &answering_receiver : &plain_receiver, send_to_all);
    }
  }
  dispatch_group_wait(running, DISPATCH_TIME_FOREVER);
  for (int i = 0; i < QUEUES; i++) {
    if (places[i].received != count) {
      fprintf(stderr, "queue %d has got %ld messages\n", i, places[i].received);
      exit(1);
    }
    places[i].received = 0;
  }
}

int main(int count, char **words) {
  const char *kind = count > 1 ? words[1] : "burst";
  // Ends what hangs.
  alarm(30);
  running = dispatch_group_create();
  urgent = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_HIGH, 0);
  for (int i = 0; i < QUEUES; i++) {
    places[i].queue = dispatch_queue_create("place", NULL);
    dispatch_set_target_queue(places[i].queue, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_LOW, 0));
  }
  // Threads and memory are there.
  exchange(QUEUES / 10, kind);
  double time = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  exchange(QUEUES, kind);
  time = seconds(CLOCK_MONOTONIC) - time;
  used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
  printf("ns %.2f\nCPU ns %.2f\n", time * 1e9 / QUEUES / QUEUES, used * 1e9 / QUEUES / QUEUES);
  return 0;
}
