//===- MainActor.c - the toolchain's own main queue -------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformMainActor.h"

#include "CPlatformIdentity.h"
#include "Uncancelled.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

// What is used of that library. A program that has Swift's library in itself (`--static-swift-stdlib`) hides these names from dlsym, but
// not from its own linker. The references are weak: the linker takes nothing into the program because of them, and needs no library. In
// libdispatch.so, which has the names itself, nothing calls the functions below.
struct foreign_queue;
extern struct foreign_queue _dispatch_main_q __attribute__((weak));
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *unused) __attribute__((weak));
extern void dispatch_async_f(void *queue, void *context, void (*item)(void *)) __attribute__((weak));
extern void dispatch_queue_set_specific(void *queue, const void *key, void *value, void (*destroy)(void *)) __attribute__((weak));
extern void *dispatch_get_specific(const void *key) __attribute__((weak));

// The program's own one comes first: the main actor's jobs go there, whatever else has been loaded.
#define FOREIGN(name) (&(name) != NULL ? &(name) : (__typeof__(&(name)))dlsym(RTLD_DEFAULT, #name))

// Run loops use these functions: the library exports them for Foundation's.
int gc_foreign_main_handle(void) {
  // A child of fork shares the parent's, and must leave that library alone.
  if (gc_is_forked()) return -1;
  int (*handle)(void) = FOREIGN(_dispatch_get_main_queue_handle_4CF);
  return handle != NULL ? handle() : -1;
}

void gc_foreign_main_drain(int handle) {
  void (*drain)(void *) = FOREIGN(_dispatch_main_queue_callback_4CF);
  if (drain == NULL) return;
  uint64_t count;
  struct pollfd entry = {.fd = handle, .events = POLLIN, .revents = 0};
  if (raw_poll(&entry, 1) > 0 && raw_read(handle, &count, sizeof count) < 0) return;
  drain(NULL);
}

static struct {
  void *queue;
  void (*async)(void *queue, void *context, void (*item)(void *));
  void *(*specific)(const void *key);
} foreign;

// The address of this variable is the key that marks the queue.
static char mark;

static void find_foreign(void) {
  void (*set)(void *, const void *, void *, void (*)(void *)) = FOREIGN(dispatch_queue_set_specific);
  foreign.queue = FOREIGN(_dispatch_main_q);
  foreign.async = FOREIGN(dispatch_async_f);
  foreign.specific = FOREIGN(dispatch_get_specific);
  if (set == NULL || foreign.async == NULL || foreign.specific == NULL) foreign.queue = NULL;
  if (foreign.queue != NULL) set(foreign.queue, &mark, &mark, NULL);
}

// A child of fork must leave the other library alone.
static bool has_foreign(void) {
  if (gc_is_forked()) return false;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_foreign);
  return foreign.queue != NULL;
}

bool gc_foreign_main_post(void (*item)(void *)) {
  if (!has_foreign()) return false;
  foreign.async(foreign.queue, NULL, item);
  return true;
}

bool gc_foreign_main_is_current(void) { return has_foreign() && foreign.specific(&mark) == &mark; }

#if defined(__has_attribute)
#if __has_attribute(swiftcall)
#define GC_SWIFT __attribute__((swiftcall))
#endif
#endif

#ifdef GC_SWIFT
static void (*async_main)(void);

static GC_SWIFT void run_async_main(void *original, void *override) {
  (void)original;
  (void)override;
  async_main();
}

bool gc_take_async_main(void (*run)(void)) {
  typedef GC_SWIFT void (*hook_function)(void *, void *);
  hook_function *hook = (hook_function *)dlsym(RTLD_DEFAULT, "swift_task_asyncMainDrainQueue_hook");
  if (hook == NULL || dlsym(RTLD_DEFAULT, "CFRunLoopRun") != NULL) return false;
  async_main = run;
  *hook = run_async_main;
  return true;
}
#else
bool gc_take_async_main(void (*run)(void)) {
  (void)run;
  return false;
}
#endif
