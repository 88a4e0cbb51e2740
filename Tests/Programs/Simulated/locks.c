// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A thread and an item of a queue take two mutexes in different orders. Repaired, in the same one. Both wait for a condition before,
// which a third thread makes true; it sleeps half an hour first.

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool is_open;
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int count;

static void *open_gate(void *context) {
  sleep(1800);
  pthread_mutex_lock(&gate);
  is_open = true;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&gate);
  return context;
}

static void count_one(int first) {
  pthread_mutex_lock(&gate);
  while (!is_open) pthread_cond_wait(&opened, &gate);
  pthread_mutex_unlock(&gate);
  pthread_mutex_lock(&locks[first]);
  pthread_mutex_lock(&locks[1 - first]);
  count += 1;
  pthread_mutex_unlock(&locks[1 - first]);
  pthread_mutex_unlock(&locks[first]);
}

static void item(void *context) {
  (void)context;
  count_one(0);
}

static void *thread(void *context) {
#ifdef REPAIRED
  count_one(0);
#else
  count_one(1);
#endif
  return context;
}

int main(void) {
  pthread_t opener, counter;
  pthread_create(&opener, NULL, open_gate, NULL);
  pthread_create(&counter, NULL, thread, NULL);
  dispatch_group_t items = dispatch_group_create();
  dispatch_group_async_f(items, dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0), NULL, item);
  dispatch_group_wait(items, DISPATCH_TIME_FOREVER);
  pthread_join(counter, NULL);
  pthread_join(opener, NULL);
  printf("%d have counted\n", count);
  return count != 2;
}
