// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// How checks print.

#ifndef CHECKS_H
#define CHECKS_H

#include <stdio.h>
#include <string.h>

#include "CPlatform.h"
#include "CPlatformFiles.h"
#include "CPlatformIO.h"
#include "CPlatformProcesses.h"
#include "CPlatformSignals.h"
#include "outside.h"

#define SHOW(call) printf("  %-58s %lld\n", #call, (long long)(call))
static inline void title(const char *name) { printf("%s\n", name); }

/// What a wait brings, within some time: a slow machine must print the same.
static inline void show_wait(const char *what, int epfd, uint64_t timeout) {
  gc_epoll_event events[8];
  int count = gc_epoll_wait(epfd, events, 8, timeout);
  printf("  %-58s %d", what, count);
  for (int i = 0; i < count; i++) printf("  %llu:%x", (unsigned long long)events[i].token, events[i].events);
  printf("\n");
}

static inline void show_now(const char *what, int epfd) { show_wait(what, epfd, 0); }
static const uint64_t long_time = 5000000000u, short_time = 2000000;

static inline uint64_t number_from(int fd) {
  uint64_t value = 0;
  ssize_t count = gc_read(fd, &value, 8);
  return count == 8 ? value : (uint64_t)count;
}

void check_futexes(void);
void check_threads(void);
void check_signals(void);
void check_files(void);
void check_processes(void);

#endif
