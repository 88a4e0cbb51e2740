// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A pool of serial queues: as many as processors, not as many as tasks, handed out one after the other without a lock.
//
// Prints:
//   file.read: 5 queues, each given 4 times in 20
//   a pool of no queue has 1, one of 100 has 32
//   the default pool: a queue for each processor, the same for every caller

#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

enum { most_queues = 32, qos_classes = 5 };

typedef struct {
  uint32_t count;
  _Atomic uint32_t next;
  dispatch_queue_t queues[most_queues];
} queue_pool;

static queue_pool *queue_pool_create(const char *name, long count, dispatch_qos_class_t qos) {
  queue_pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) return NULL;
  pool->count = (uint32_t)(count < 1 ? 1 : count > most_queues ? most_queues : count);
  dispatch_queue_attr_t attributes = dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_SERIAL, qos, 0);
  for (uint32_t i = 0; i < pool->count; i++) pool->queues[i] = dispatch_queue_create(name, attributes);
  return pool;
}

static void queue_pool_destroy(queue_pool *pool) {
  for (uint32_t i = 0; i < pool->count; i++) dispatch_release(pool->queues[i]);
  free(pool);
}

/// The next queue in turn, from any thread.
static dispatch_queue_t queue_pool_get(queue_pool *pool) {
  uint32_t turn = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
  return pool->queues[turn % pool->count];
}

static queue_pool *default_pools[qos_classes];

static void make_default_pools(void *unused) {
  (void)unused;
  static const struct {
    const char *name;
    dispatch_qos_class_t qos;
  } kinds[qos_classes] = {
      {"pool.user-interactive", QOS_CLASS_USER_INTERACTIVE}, {"pool.user-initiated", QOS_CLASS_USER_INITIATED},
      {"pool.default", QOS_CLASS_DEFAULT},                   {"pool.utility", QOS_CLASS_UTILITY},
      {"pool.background", QOS_CLASS_BACKGROUND},
  };
  for (int i = 0; i < qos_classes; i++) {
    default_pools[i] = queue_pool_create(kinds[i].name, sysconf(_SC_NPROCESSORS_ONLN), kinds[i].qos);
  }
}

/// A queue of the pool that the whole program shares for tasks of this kind.
static dispatch_queue_t queue_for_qos(dispatch_qos_class_t qos) {
  static dispatch_once_t once;
  dispatch_once_f(&once, NULL, make_default_pools);
  switch (qos) {
    case QOS_CLASS_USER_INTERACTIVE: return queue_pool_get(default_pools[0]);
    case QOS_CLASS_USER_INITIATED: return queue_pool_get(default_pools[1]);
    case QOS_CLASS_UTILITY: return queue_pool_get(default_pools[3]);
    case QOS_CLASS_BACKGROUND: return queue_pool_get(default_pools[4]);
    default: return queue_pool_get(default_pools[2]);
  }
}

static void test_turns(void) {
  queue_pool *pool = queue_pool_create("file.read", 5, QOS_CLASS_BACKGROUND);
  __block atomic_int given[5] = {0};
  atomic_int *counts = given;
  dispatch_group_t group = dispatch_group_create();
  // From several threads at once.
  dispatch_apply(20, dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), ^(size_t i) {
    (void)i;
    dispatch_queue_t queue = queue_pool_get(pool);
    for (int q = 0; q < 5; q++) {
      if (pool->queues[q] == queue) counts[q]++;
    }
    dispatch_group_async(group, queue, ^{
      expect(strcmp(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL), "file.read") == 0);
    });
  });
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
  for (int q = 0; q < 5; q++) {
    expect(counts[q] == 4);
    expect(dispatch_queue_get_qos_class(pool->queues[q], NULL) == QOS_CLASS_BACKGROUND);
  }
  printf("%s: %u queues, each given 4 times in 20\n", dispatch_queue_get_label(pool->queues[0]), pool->count);
  dispatch_release(group);
  queue_pool_destroy(pool);
}

static void test_limits(void) {
  queue_pool *smallest = queue_pool_create("smallest", 0, QOS_CLASS_DEFAULT);
  queue_pool *largest = queue_pool_create("largest", 100, QOS_CLASS_DEFAULT);
  printf("a pool of no queue has %u, one of 100 has %u\n", smallest->count, largest->count);
  queue_pool_destroy(smallest);
  queue_pool_destroy(largest);
}

static void test_default_pools(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t count = (uint32_t)(processors > most_queues ? most_queues : processors);
  dispatch_queue_t first = queue_for_qos(QOS_CLASS_UTILITY);
  for (uint32_t i = 1; i < count; i++) expect(queue_for_qos(QOS_CLASS_UTILITY) != first);
  expect(queue_for_qos(QOS_CLASS_UTILITY) == first);
  expect(dispatch_queue_get_qos_class(first, NULL) == QOS_CLASS_UTILITY);
  expect(dispatch_queue_get_qos_class(queue_for_qos(QOS_CLASS_UNSPECIFIED), NULL) == QOS_CLASS_DEFAULT);
  printf("the default pool: a queue for each processor, the same for every caller\n");
}

int main(void) {
  test_turns();
  test_limits();
  test_default_pools();
}
