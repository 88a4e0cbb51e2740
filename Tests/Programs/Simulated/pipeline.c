// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Two producers, a thread and an item, send records through one pipe to a consumer. A record has a length and its text. They write both
// one after the other, so another one's may come between. Repaired, in one call, which a pipe takes as a whole.

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int ends[2];
static const char *const texts[] = {"a", "four", "a record of some length", "and the last one"};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static void send_record(const char *text) {
  unsigned char length = (unsigned char)strlen(text);
#ifdef REPAIRED
  struct iovec parts[] = {{&length, 1}, {(void *)text, length}};
  if (writev(ends[1], parts, 2) != 1 + length) perror("writev");
#else
  if (write(ends[1], &length, 1) != 1 || write(ends[1], text, length) != length) perror("write");
#endif
}

static void *produce(void *context) {
  for (int index = 0; index < TEXTS; index++) send_record(texts[index]);
  return context;
}
static void produce_in_item(void *context) { produce(context); }

static int read_whole(void *place, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = read(ends[0], (char *)place + done, size - done);
    if (count <= 0) return 0;
    done += (size_t)count;
  }
  return 1;
}

static void *consume(void *wrong) {
  unsigned char length;
  int records = 0;
  while (read_whole(&length, 1)) {
    char text[256] = "";
    if (!read_whole(text, length)) break;
    int is_known = 0;
    for (int index = 0; index < TEXTS; index++) is_known |= strcmp(text, texts[index]) == 0;
    if (!is_known) printf("no record: '%s'\n", text);
    *(int *)wrong |= !is_known;
    records += 1;
  }
  *(int *)wrong |= records != 2 * TEXTS;
  return NULL;
}

int main(void) {
  pthread_t producer, consumer;
  int wrong = 0;
  if (pipe(ends) != 0) return 2;
  pthread_create(&consumer, NULL, consume, &wrong);
  pthread_create(&producer, NULL, produce, NULL);
  dispatch_group_t items = dispatch_group_create();
  dispatch_group_async_f(items, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), NULL, produce_in_item);
  dispatch_group_wait(items, DISPATCH_TIME_FOREVER);
  pthread_join(producer, NULL);
  close(ends[1]);
  pthread_join(consumer, NULL);
  return wrong;
}
