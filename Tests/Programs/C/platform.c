// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What differs between processors and C libraries, whatever the program does: the stack of a worker, and what is said about frames.
//
//   platform stack     an item uses as much stack as a thread of the program's own may
//   platform cycle     two queues wait for each other: the line about it names the function that has called
//   platform frames    a misuse: the frames from the signal's handler down to the program's function can be followed
//
// The last two look at frames with glibc only: musl has nothing to unwind them with.

#define _GNU_SOURCE 1
#include "check.h"

#include <dispatch/dispatch.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

static void nothing(void *unused) { (void)unused; }

// MARK: The stack

enum { PIECE = 4096 };

/// The caller's piece is changed from below, so that no compiler makes a loop of this.
__attribute__((noinline)) static int descend(long pieces, volatile char *callers) {
  volatile char piece[PIECE];
  memset((char *)piece, 1, sizeof piece);
  int wrong = pieces > 0 && descend(pieces - 1, piece);
  callers[PIECE / 2] = 2;
  return wrong || (pieces > 0 && piece[PIECE / 2] != 2);
}

static void use_stack(void *wrong) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
  rlim_t most = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 8 << 20 ? 8 << 20 : limit.rlim_cur;
  volatile char piece[PIECE];
  *(int *)wrong = descend((long)(most * 3 / 4 / PIECE), piece);
}

static void stack(void) {
  int wrong = -1;
  dispatch_queue_t queue = dispatch_queue_create("deep", DISPATCH_QUEUE_SERIAL);
  dispatch_async_f(queue, &wrong, use_stack);
  // Beside the queue, so that a worker runs the item, and not this thread.
  while (__atomic_load_n(&wrong, __ATOMIC_SEQ_CST) == -1) usleep(1000);
  CHECK(wrong == 0);
}

// MARK: A cycle of waits

static dispatch_queue_t one, other;
static dispatch_semaphore_t both_run;
static int arrived;

static void meet(void) {
  if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == 2) {
    dispatch_semaphore_signal(both_run);
    dispatch_semaphore_signal(both_run);
  }
  dispatch_semaphore_wait(both_run, DISPATCH_TIME_FOREVER);
}

// Not the last call of each, or it would have no frame.
void waits_for_other(void *counter) {
  meet();
  dispatch_sync_f(other, NULL, nothing);
  ++*(int *)counter;
}

void waits_for_one(void *counter) {
  meet();
  dispatch_sync_f(one, NULL, nothing);
  ++*(int *)counter;
}

static void cycle(void) {
  int ends[2], counter = 0;
  CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
  one = dispatch_queue_create("one", DISPATCH_QUEUE_SERIAL);
  other = dispatch_queue_create("other", DISPATCH_QUEUE_SERIAL);
  both_run = dispatch_semaphore_create(0);
  dispatch_async_f(one, &counter, waits_for_other);
  dispatch_async_f(other, &counter, waits_for_one);
  char line[2048] = "";
  CHECK(read(ends[0], line, sizeof line - 1) > 0);
  dup2(1, 2);
  if (!strstr(line, "GC0032")) printf("%s\n", line);
  CHECK(strstr(line, "GC0032") != NULL);
#if defined(__GLIBC__)
  CHECK(strstr(line, "waits_for_one") != NULL || strstr(line, "waits_for_other") != NULL);
#endif
}

// MARK: Frames

__attribute__((noinline)) void misuses(void *group) {
  dispatch_group_leave(group);
  printf("came back\n");
}

#if defined(__GLIBC__)

static void look(int number) {
  (void)number;
  void *addresses[64];
  int count = backtrace(addresses, 64), found = 0;
  for (int i = 0; i < count; i++) {
    // The function is no longer than this.
    found |= (char *)addresses[i] > (char *)misuses && (char *)addresses[i] < (char *)misuses + 64;
  }
  printf("%d frames, the program's own is %s\n", count, found ? "one of them" : "missing");
  fflush(stdout);
  _exit(!found);
}

/// Loads what unwinds, which a handler should not.
static void prepare(void) {
  void *address;
  backtrace(&address, 1);
}

#else
static void look(int number) {
  printf("the handler runs\n");
  fflush(stdout);
  _exit(number != SIGABRT);
}

static void prepare(void) {}
#endif

static void frames(void) {
  prepare();
  signal(SIGABRT, look);
  dispatch_async_f(dispatch_queue_create("misused", NULL), dispatch_group_create(), misuses);
  for (;;) pause();
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  alarm(30);
  if (!strcmp(what, "stack")) stack();
  else if (!strcmp(what, "cycle")) cycle();
  else if (!strcmp(what, "frames")) frames();
  else return 2;
  printf("%s: %d checks\n", what, checks);
  fflush(stdout);
  _exit(0);
}
