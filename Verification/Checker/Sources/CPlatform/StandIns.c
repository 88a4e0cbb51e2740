// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What a made-up machine has none of: names of code, tasks; the toolchain's own main queue, if a scenario wants one; and the closures' words,
/// which are the real ones.

#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>

#include "Machine.h"

#include "CPlatformCallSites.h"
#include "CPlatformInsightRegion.h"
#include "CPlatformMainActor.h"

static void (*posted)(void *);
static int posted_count;
static bool offers_main;
static void reset_main(void) {
  posted_count = 0;
  offers_main = false;
}
MACHINE_PART(main_queue, reset_main)

void ck_machine_offer_main_queue(void) { offers_main = true; }

bool ck_machine_run_main_queue(void) {
  machine_point("main-queue", &posted);
  machine_sync(&posted);
  if (posted_count == 0) return false;
  posted_count--;
  posted(NULL);
  return true;
}

int gc_foreign_main_handle(void) { return -1; }
void gc_foreign_main_drain(int handle) { (void)handle; }

/// The item lies there: no thread runs that queue.
bool gc_foreign_main_post(void (*item)(void *)) {
  if (!offers_main) return false;
  machine_point("main-queue-post", &posted);
  machine_sync(&posted);
  posted = item;
  posted_count++;
  return true;
}

bool gc_foreign_main_is_current(void) { return false; }

bool gc_take_async_main(void (*run)(void)) {
  (void)run;
  return false;
}

// The runtime keeps tasks in memory that the core does not see, so the order is told here: resuming a task comes before the
// task's next step; a canceller knows which waiter to tell, and tells it before the task goes on. The functions that are
// defined here come before the runtime's.
static bool is_cancelling;
static void reset_tasks(void) { is_cancelling = false; }
MACHINE_PART(tasks, reset_tasks)

void ck_machine_sync_tasks(void) { machine_sync(&is_cancelling); }

void ck_machine_cancelling(bool begins) {
  machine_point("cancel", &is_cancelling);
  while (begins && is_cancelling) machine_block(&is_cancelling, UINT64_MAX, false, "cancel");
  is_cancelling = begins;
  machine_sync(&is_cancelling);
  if (!begins) machine_wake_all(&is_cancelling);
}

typedef __attribute__((swiftcall)) void resume_function(void *continuation);
// The caller's own context goes along in its register.
typedef __attribute__((swiftasynccall)) void await_function(__attribute__((swift_async_context)) void *own, void *continuation);

__attribute__((swiftcall)) void swift_continuation_resume(void *continuation) {
  static resume_function *real;
  if (real == NULL) real = (resume_function *)dlsym(RTLD_NEXT, "swift_continuation_resume");
  machine_sync(&is_cancelling);
  real(continuation);
}

__attribute__((swiftasynccall)) void swift_continuation_await(__attribute__((swift_async_context)) void *own,
                                                              void *continuation) {
  static await_function *real;
  if (real == NULL) real = (await_function *)dlsym(RTLD_NEXT, "swift_continuation_await");
  machine_point("await", &is_cancelling);
  while (is_cancelling) machine_block(&is_cancelling, UINT64_MAX, false, "await");
  machine_sync(&is_cancelling);
  __attribute__((musttail)) return real(own, continuation);
}

bool gc_in_task(void) { return false; }

int gc_call_sites(void **addresses, int room) {
  (void)addresses;
  (void)room;
  return 0;
}

bool gc_is_in_own_library(uintptr_t address) {
  (void)address;
  return false;
}

int gc_describe_code(const void *address, char *name, int name_room, char *place, int place_room) {
  (void)address;
  if (name_room > 0) name[0] = 0;
  if (place_room > 0) place[0] = 0;
  return 0;
}

void gc_demangle(char *name, int room) {
  (void)name;
  (void)room;
}

__attribute__((swiftcall)) void gc_closure_words(const void *function, const void *context, const void **words) {
  words[0] = function;
  words[1] = context;
}

__attribute__((swiftcall)) void gc_loop_closure_words(const void *function, const void *context, const void **words) {
  gc_closure_words(function, context, words);
}

// No tool looks in from outside: there is no region, and no switch is on.
unsigned char gc_insight_page[GC_LARGEST_PAGE];
uint32_t gc_insight_workers[GC_INSIGHT_WORKERS];
int gc_insight_make(size_t size, const gc_insight_head *head, void **base) {
  (void)size, (void)head, (void)base;
  return -ENOSYS;
}
void gc_insight_leave(void *base, size_t size, int descriptor, uint32_t switches) {
  (void)base, (void)size, (void)descriptor, (void)switches;
}
int gc_insight_take_entry(int count) {
  (void)count;
  return -1;
}
void gc_insight_give_back_entry(int index) { (void)index; }
void gc_insight_forget_entries(void) {}
uint32_t gc_insight_wishes(void) { return 0; }
bool gc_insight_is_cramped(void) { return true; }
bool gc_insight_dump(int descriptor, uint32_t most) {
  (void)descriptor, (void)most;
  return false;
}
void gc_insight_dump_at_fault(void) {}
bool gc_insight_write_core(int descriptor, uint32_t patience) {
  (void)descriptor, (void)patience;
  return false;
}
void gc_insight_write_core_at_fault(void) {}
void gc_insight_await_fault(void) {}
void gc_insight_copy(void *to, const void *from, size_t size) { memcpy(to, from, size); }
void gc_thread_get_name(char *name) { name[0] = 0; }
