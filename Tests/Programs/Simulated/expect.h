// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What is the case with the kernel, and has to be the case in a simulation.
#ifndef EXPECT_H
#define EXPECT_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(condition)                                      \
  if (!(condition)) {                                          \
    printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
    exit(1);                                                   \
  }

struct fact {
  const char *name;
  void (*check)(void);
};

/// Milliseconds.
static inline long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// What the thread does first takes place later.
static inline void rest(void) { usleep(50000); }

static inline pthread_t start(void *(*body)(void *), void *context) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, body, context) == 0);
  return thread;
}

/// Checks the fact that the word names; without one, all of them. "names" lists them.
static inline int check(const struct fact *facts, size_t count, char **names) {
  for (size_t index = 0; index < count; index++) {
    if (names[1] != NULL && strcmp(names[1], "names") == 0) puts(facts[index].name);
    if (names[1] == NULL || strcmp(names[1], facts[index].name) == 0) facts[index].check();
  }
  return 0;
}

#endif
