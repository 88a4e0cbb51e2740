// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Threads: fibres of the core's with what the kernel knows of a thread besides.

#include "Machine.h"

#include "CPlatformIdentity.h"
#include "CPlatformSignals.h"

_Thread_local gc_thread gc_thread_record;
// The first thread's number is the process's.
uint32_t gc_main_thread = 1;
uint32_t gc_generation;
bool gc_is_forked(void) { return gc_generation != 0; }
uint32_t gc_process_id(void) { return gc_main_thread; }

enum { most_threads = 1024 };
// A child's thread is another one than the parent's that it is a copy of: numbers differ by the generation.
#define NUMBER(index) ((index) + gc_generation * most_threads)
static machine_thread threads[most_threads];
static int live_threads;

static void reset_threads(void) {
  memset(threads, 0, sizeof threads);
  threads[1] = (machine_thread){.exists = true, .name = "main"};
  live_threads = 1;
  gc_main_thread = 1;
  gc_generation = 0;
  memset(&gc_thread_record, 0, sizeof gc_thread_record);
}
MACHINE_PART(threads, reset_threads)

static uint32_t self(void) {
  uint32_t number = ck_self();
  return number == 0 ? 1 : number;
}

machine_thread *machine_thread_of(uint32_t number) {
  uint32_t index = number % most_threads;
  return number == NUMBER(index) && threads[index].exists ? &threads[index] : NULL;
}

machine_thread *machine_self(void) {
  uint32_t number = self();
  if (number >= most_threads) ck_fail("the made-up machine has no more numbers for threads");
  // A thread that the scenario has started by the core's own means.
  if (!threads[number].exists) {
    threads[number] = (machine_thread){.exists = true, .running_since = machine_uptime(), .mask = threads[1].mask};
    live_threads++;
  }
  return &threads[number];
}

uint32_t gc_thread_id_slow(void) { return gc_thread_record.tid = NUMBER(self()); }

// MARK: Waiting

int machine_block(const void *key, uint64_t deadline, bool spurious, const char *what) {
  if (ck_self() == 0) ck_fail("a wait outside of a run");
  machine_thread *thread = machine_self();
  thread->processor_time += machine_uptime() - thread->running_since;
  thread->is_blocked = true;
  thread->is_interrupted = false;
  thread->key = key;
  int result = ck_block((uintptr_t)key, deadline, spurious, what);
  thread->is_blocked = false;
  thread->key = NULL;
  thread->running_since = machine_uptime();
  return result;
}

void machine_wake_all(const void *key) {
  if (ck_self() != 0 || ck_blocked((uintptr_t)key) > 0) ck_wake((uintptr_t)key, 1 << 30);
}

uint64_t machine_uptime(void) { return ck_uptime(); }

uint64_t machine_after(uint64_t nanoseconds) {
  uint64_t now = machine_uptime();
  return nanoseconds > UINT64_MAX - now ? UINT64_MAX : now + nanoseconds;
}

void gc_nanosleep(uint64_t nanoseconds) {
  machine_point("sleep", NULL);
  // No thread wakes it: the key is its own.
  machine_block(machine_self(), machine_after(nanoseconds), false, "sleep");
}

void ck_machine_compute(uint64_t nanoseconds) {
  machine_thread *thread = machine_self();
  uint64_t since = thread->running_since, used = thread->processor_time;
  thread->computes = true;
  machine_block(thread, machine_after(nanoseconds), false, "compute");
  thread->computes = false;
  thread->running_since = since;
  thread->processor_time = used;
}

void ck_machine_wait(const void *key) { machine_block(key, UINT64_MAX, false, "wait"); }

void ck_machine_wake(const void *key) {
  machine_point("wake", key);
  machine_wake_all(key);
}

uint64_t ck_machine_now(void) { return machine_uptime(); }
int ck_machine_threads(void) { return live_threads; }

bool ck_machine_is_blocked(uint32_t number) {
  machine_thread *thread = machine_thread_of(number);
  return thread != NULL && thread->is_blocked && !thread->computes;
}

// As if each thread had a processor to itself.
uint64_t gc_clock_thread_cpu(uint32_t tid) {
  machine_point("clock of thread", NULL);
  machine_thread *thread = machine_thread_of(tid);
  if (thread == NULL) return 0;
  if (thread->is_blocked && !thread->computes) return thread->processor_time;
  uint64_t now = machine_uptime();
  return thread->processor_time + (now - thread->running_since) + (thread->computes ? 0 : 1);
}

// MARK: Starting and ending

typedef struct {
  gc_thread_body body;
  void *argument;
  bool is_known;
} start_record;

/// By whichever of the two comes first, the starter or the thread itself.
static void register_thread(start_record *start, uint32_t number) {
  if (start->is_known) return;
  if (number >= most_threads) ck_fail("the made-up machine has no more numbers for threads");
  start->is_known = true;
  threads[number] = (machine_thread){
      .exists = true, .name = "thread", .running_since = machine_uptime(), .mask = gc_signals_pool_mask()};
  live_threads++;
}

static void run_thread(void *raw) {
  start_record *start = raw;
  memset(&gc_thread_record, 0, sizeof gc_thread_record);
  register_thread(start, ck_self());
  // A run may end while pool threads wait: a scenario waits for what it wants done.
  ck_set_resting(true);
  machine_thread *thread = machine_self();
  start->body(start->argument);
  // A hook may arm itself again, as a key's destructor may.
  for (int round = 0; round < 4 && thread->at_exit != NULL; round++) {
    void (*hook)(void) = thread->at_exit;
    thread->at_exit = NULL;
    hook();
  }
  machine_point("thread-end", NULL);
  thread->exists = false;
  live_threads--;
}

int gc_thread_start(gc_thread_body body, void *argument, size_t stack_size) {
  (void)stack_size;
  machine_point("thread-start", NULL);
  if (live_threads >= settings.thread_limit || machine_refuses(CK_MACHINE_THREADS, "thread-start refused")) return -EAGAIN;
  start_record *start = machine_new(sizeof *start);
  *start = (start_record){body, argument, false};
  register_thread(start, ck_spawn(run_thread, start));
  return 0;
}

void gc_thread_set_name(const char *name) {
  machine_thread *thread = machine_self();
  strncpy(thread->name, name, sizeof thread->name - 1);
  if (ck_self() != 0) ck_set_name(thread->name);
}

int gc_thread_at_exit(void (*hook)(void)) {
  machine_self()->at_exit = hook;
  return 0;
}

void gc_thread_set_timer_slack(unsigned long nanoseconds) { (void)nanoseconds; }

// MARK: Processors and forks

int gc_affinity_count(void) { return settings.processors; }
int gc_online_processors(void) { return settings.processors; }

/// In the child: of all threads the calling one is left, by another number. Descriptors stay open, and what waits for them
/// on the kernel's side stays there; threads that waited do not.
static void begin_in_child(void) {
  ck_abandon_others();
  for (uint32_t i = 0; i < most_threads; i++)
    if (i != self()) threads[i].exists = false;
  live_threads = 1;
  machine_futexes_forked();
  gc_generation++;
  gc_thread_record.tid = 0;
  gc_main_thread = NUMBER(self());
}

// As in `Identity.c`: programs without the library have neither.
__attribute__((weak)) void gc_before_fork(void);
__attribute__((weak)) void gc_after_fork(bool in_child);

bool ck_machine_fork(void) {
  if (gc_before_fork) gc_before_fork();
  machine_point("fork", threads);
  bool is_child = ck_branch(2, "goes on as the child") != 0;
  if (is_child) begin_in_child();
  if (gc_after_fork) gc_after_fork(is_child);
  return is_child;
}

// A fibre cannot be copied, its stack holds addresses of itself: a scenario that forks goes on as one of the two.
int gc_fork(void) { return -ENOSYS; }
