// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the programs with known bugs share: `PROGRAM NAME` has one of the bugs, `PROGRAM NAME repaired` has its mend, and `PROGRAM`
// alone lists them. They are our own programs, after what has been published about bugs of that kind (GoKer's kernels, SCTBench's
// programs). A wrong one ends with the code 1, or not at all, in some schedules.

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void (*work)(void *);

static bool repaired;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

// Plain code has no point at which another thread may go on; this is one.
static inline void pause_here(void) { usleep(0); }

static inline void lock(void) { pthread_mutex_lock(&first_lock); }
static inline void unlock(void) { pthread_mutex_unlock(&first_lock); }

static inline dispatch_queue_t any_queue(void) { return dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0); }

// Items of the global queue; all of them have run at the end.
static inline void as_items(int count, const work *functions) {
  dispatch_group_t group = dispatch_group_create();
  for (int index = 0; index < count; index++) dispatch_group_async_f(group, any_queue(), NULL, functions[index]);
  dispatch_group_wait(group, DISPATCH_TIME_FOREVER);
}

static inline void *begin(void *function) {
  (*(const work *)function)(NULL);
  return NULL;
}

static inline void as_threads(int count, const work *functions) {
  pthread_t threads[4];
  for (int index = 0; index < count; index++) pthread_create(&threads[index], NULL, begin, (void *)&functions[index]);
  for (int index = 0; index < count; index++) pthread_join(threads[index], NULL);
}

#define FUNCTION(name) static void name(__attribute__((unused)) void *context)

struct known {
  const char *name;
  bool (*is_right)(void);
};

#define KNOWN(name) {#name, name}

static inline int run_known(int count, char **words, const struct known *all, size_t number) {
  repaired = count > 2 && strcmp(words[2], "repaired") == 0;
  for (size_t index = 0; index < number; index++) {
    if (count < 2) {
      puts(all[index].name);
    } else if (strcmp(words[1], all[index].name) == 0) {
      return !all[index].is_right();
    }
  }
  return count < 2 ? 0 : 2;
}
