// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Queue pools in C, and the listing of the document about them.

#include <dispatch/YYDispatchQueuePool.h>
#include <dispatch/dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "pools: %s\n", what);
  exit(1);
}

static void increment(void *counter) { __atomic_fetch_add((size_t *)counter, 1, __ATOMIC_RELAXED); }
static void nothing(void *context) { (void)context; }

static void finalize(void *semaphore) {
  expect(strcmp(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL), "target") == 0, "the finalizer's queue");
  dispatch_semaphore_signal((dispatch_semaphore_t)semaphore);
}

// O2: what can be done with every object can be done with a pool.
static void be_an_object(void) {
  dispatch_semaphore_t finalized = dispatch_semaphore_create(0);
  dispatch_queue_t target = dispatch_queue_create("target", NULL);
  dispatch_queue_pool_t pool = dispatch_queue_pool_create("object", 2, QOS_CLASS_UTILITY);
  expect(dispatch_get_context(pool) == NULL, "no context at first");
  dispatch_set_context(pool, finalized);
  dispatch_set_finalizer_f(pool, finalize);
  expect(dispatch_get_context(pool) == finalized, "the context");
  dispatch_set_target_queue(pool, target);
  dispatch_set_qos_class_floor(pool, QOS_CLASS_UTILITY, 0);
  dispatch_suspend(pool);
  dispatch_sync_f(dispatch_queue_pool_get_queue(pool), NULL, nothing);
  dispatch_resume(pool);
  dispatch_activate(pool);
  dispatch_retain(pool);
  dispatch_release(pool);
  expect(dispatch_semaphore_wait(finalized, DISPATCH_TIME_NOW) != 0, "no end before the last reference");
  dispatch_release(pool);
  expect(dispatch_semaphore_wait(finalized, dispatch_time(DISPATCH_TIME_NOW, 30 * (int64_t)NSEC_PER_SEC)) == 0, "the finalizer");

  // The shared ones never end.
  pool = dispatch_queue_pool_get_default(QOS_CLASS_UTILITY);
  dispatch_set_context(pool, finalized);
  dispatch_suspend(pool);
  dispatch_resume(pool);
  dispatch_release(pool);
  dispatch_release(pool);
  expect(dispatch_get_context(pool) == finalized, "the context of a shared pool");
  dispatch_set_context(pool, NULL);
  dispatch_release(target);
  dispatch_release(finalized);
}

int main(void) {
  dispatch_queue_pool_t pool = dispatch_queue_pool_create("file.read", 5, QOS_CLASS_BACKGROUND);
  expect(dispatch_queue_pool_get_queue_count(pool) == 5, "five queues");
  dispatch_queue_t seen[10];
  for (int i = 0; i < 10; i++) {
    seen[i] = dispatch_queue_pool_get_queue(pool);
    expect(strcmp(dispatch_queue_get_label(seen[i]), "file.read") == 0, "the label");
    expect(dispatch_queue_get_qos_class(seen[i], NULL) == QOS_CLASS_BACKGROUND, "the class");
    expect(i < 5 || seen[i] == seen[i - 5], "in turn");
    for (int j = i < 5 ? 0 : i - 4; j < i; j++) expect(seen[i] != seen[j], "five different ones");
  }
  expect(dispatch_queue_pool_get_queue_for_key(pool, "key", 3) == dispatch_queue_pool_get_queue_for_key(pool, "key", 3),
         "one queue for a key");

  size_t count = 0, depth = 0;
  uint64_t completed = 0;
  for (int i = 0; i < 1000; i++) dispatch_async_f(dispatch_queue_pool_get_queue(pool), &count, increment);
  for (int i = 0; i < 5; i++) dispatch_sync_f(seen[i], NULL, nothing);
  expect(__atomic_load_n(&count, __ATOMIC_RELAXED) == 1000, "each item once");
  expect(dispatch_queue_pool_get_statistics(pool, 4, &depth, &completed), "figures of the last queue");
  expect(!dispatch_queue_pool_get_statistics(pool, 5, &depth, &completed), "no sixth queue");
  expect(depth == 0 && completed == 200, "figures");

  dispatch_queue_t idle = seen[2];
  for (int i = 0; i < 5; i++) {
    if (seen[i] == idle) continue;
    dispatch_suspend(seen[i]);
    dispatch_async_f(seen[i], NULL, nothing);
  }
  for (int i = 0; i < 5; i++) expect(dispatch_queue_pool_get_least_loaded(pool) == idle, "the least loaded one");
  for (int i = 0; i < 5; i++) {
    if (seen[i] != idle) dispatch_resume(seen[i]);
  }
  dispatch_release(pool);
  be_an_object();

  dispatch_queue_t queue = YYDispatchQueueGetForQOS(NSQualityOfServiceUtility);
  expect(dispatch_queue_get_qos_class(queue, NULL) == QOS_CLASS_UTILITY, "the class that was asked for");
  expect(dispatch_queue_get_qos_class(YYDispatchQueueGetForQOS(NSQualityOfServiceDefault), NULL) == QOS_CLASS_DEFAULT,
         "the default class");
  expect(dispatch_queue_pool_get_default(QOS_CLASS_UTILITY) == dispatch_queue_pool_get_default(QOS_CLASS_UTILITY),
         "one pool for a class");
  expect(dispatch_queue_pool_get_default(0x05) == dispatch_queue_pool_get_default(QOS_CLASS_BACKGROUND),
         "maintenance is background work");
  dispatch_queue_pool_t maintenance = dispatch_queue_pool_create("maintenance", 1, 0x05);
  expect(dispatch_queue_get_qos_class(dispatch_queue_pool_get_queue(maintenance), NULL) == QOS_CLASS_BACKGROUND,
         "the class of a pool for maintenance");
  dispatch_release(maintenance);
  puts("pools: in turn, by key, by load");
  return 0;
}
