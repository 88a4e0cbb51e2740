//===- Identity.c - which process, and its first thread ----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformIdentity.h"

#include "CPlatform.h"
#include "CPlatformSwiftLocks.h"

#include <pthread.h>
#include <unistd.h>

uint32_t gc_main_thread;
uint32_t gc_generation;

static void note_main_thread(void) { __atomic_store_n(&gc_main_thread, (uint32_t)getpid(), __ATOMIC_RELAXED); }

// The child of a fork has one thread, with an id of its own: it is not the parent's thread that it is a copy of.
static void begin_in_child(void) {
  __atomic_fetch_add(&gc_generation, 1, __ATOMIC_RELAXED);
  gc_thread_self()->tid = 0;
  note_main_thread();
}

// The library's code in Swift has both (`Dispatch/AroundFork.swift`); a program of the C parts alone has not.
__attribute__((weak, visibility("hidden"))) void gc_before_fork(void);
__attribute__((weak, visibility("hidden"))) void gc_after_fork(bool in_child);

static gc_swift_thread_ids swift_thread_ids;

static void stop(void) {
  if (!gc_before_fork) return;
  gc_before_fork();
  // One thread forks at a time from here on (Fork.F2).
  gc_find_swift_thread_ids(&swift_thread_ids);
}

static void go_on_in_parent(void) {
  if (gc_after_fork) gc_after_fork(false);
}

static void go_on_in_child(void) {
  begin_in_child();
  if (!gc_after_fork) return;
  gc_renew_swift_thread_ids(&swift_thread_ids);
  gc_after_fork(true);
}

// Runs before any code asks, and before there is any fork (Fork.F1).
__attribute__((constructor)) static void begin(void) {
  note_main_thread();
  pthread_atfork(stop, go_on_in_parent, go_on_in_child);
}

bool gc_is_forked(void) { return gc_fork_generation() != 0; }
