// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A stack without a lock: a thread looks at the first node and its successor, and takes the first one, if it is still the first one. It is
// again: another thread has taken two, and has put the first one back. Then the second one, which that thread has, is in the stack as
// well. The other thread takes two steps while the first one takes none. Repaired, a mutex is locked around that.

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

typedef struct node {
  struct node *next;
} node;

static node nodes[3];
static node *first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void push(node *new) {
  new->next = __atomic_load_n(&first, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(&first, &new->next, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
}

static node *pop(void) {
#ifdef REPAIRED
  pthread_mutex_lock(&mutex);
#endif
  node *seen = __atomic_load_n(&first, __ATOMIC_SEQ_CST), *next;
  do {
    next = seen->next;
    usleep(0);
  } while (!__atomic_compare_exchange_n(&first, &seen, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
#ifdef REPAIRED
  pthread_mutex_unlock(&mutex);
#endif
  return seen;
}

static void *take_one(void *context) {
  (void)context;
  return pop();
}

static void *take_two(void *context) {
  (void)context;
  node *one = pop(), *other = pop();
  push(one);
  return other;
}

int main(void) {
  for (int index = 0; index < 3; index += 1) push(&nodes[index]);
  pthread_t threads[2];
  void *taken[2];
  pthread_create(&threads[0], NULL, take_one, NULL);
  pthread_create(&threads[1], NULL, take_two, NULL);
  pthread_join(threads[0], &taken[0]);
  pthread_join(threads[1], &taken[1]);
  printf("the other thread's node is%s in the stack\n", first == taken[1] ? "" : " not");
  (void)mutex;
  return first == taken[1];
}
