// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the linker puts between the library and what it calls (--wrap): the kernel's part of waiting and of time becomes
// the machine's, and the Swift runtime's accesses to reference counts are told to the caches.
#include <limits.h>
#include <pthread.h>

#include "CPlatform.h"
#include "internal.h"

#define SITE __builtin_return_address(0)
#define REAL(result, name, ...) \
  extern result __real_##name(__VA_ARGS__)

// Clocks begin at constants, so that a run does not depend on when it takes place.
static const uint64_t boot_uptime = 1000u * 1000000000u, boot_wall = 1700000000u * 1000000000ull;
static const char poll_channel;

static void enter(void) {
  machine_step();
  machine_spend(cost_call);
  if (counting) total.calls++;
}

// MARK: Waiting

static uint64_t nanoseconds(const struct timespec *t) {
  return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static bool block(const void *channel, uint64_t deadline) {
  if (counting) total.blocks++;
  return machine_block(channel, deadline);
}

static int futex_wait(const void *word, uint32_t expected, const struct timespec *deadline, uint64_t boot) {
  enter();
  if (__atomic_load_n((const uint32_t *)word, __ATOMIC_SEQ_CST) != expected) return -11;  // EAGAIN
  uint64_t until = NEVER;
  if (deadline != NULL) until = nanoseconds(deadline) > boot ? nanoseconds(deadline) - boot : 0;
  return block(word, until) ? -110 : 0;  // ETIMEDOUT
}

int __wrap_gc_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline) {
  return futex_wait(word, expected, deadline, boot_uptime);
}

int __wrap_gc_futex_wait_wall(const void *word, uint32_t expected, const struct timespec *deadline) {
  return futex_wait(word, expected, deadline, boot_wall);
}

int __wrap_gc_futex_wake(const void *word, int count) {
  enter();
  machine_spend(cost_wake_call);
  int woken = machine_wake(word, count);
  if (counting) {
    total.wake_calls++;
    total.woken += (uint64_t)woken;
  }
  return woken;
}

REAL(int, gc_epoll_wait, int, gc_epoll_event *, int, uint64_t);
int __wrap_gc_epoll_wait(int epfd, gc_epoll_event *events, int capacity, uint64_t timeout) {
  enter();
  uint64_t until = timeout > NEVER - self->clock ? NEVER : self->clock + timeout;
  for (;;) {
    int count = __real_gc_epoll_wait(epfd, events, capacity, 0);
    if (count != 0 || timeout == 0 || block(&poll_channel, until)) return count;
  }
}

REAL(ssize_t, gc_write, int, const void *, size_t);
ssize_t __wrap_gc_write(int fd, const void *buffer, size_t count) {
  enter();
  ssize_t result = __real_gc_write(fd, buffer, count);
  // A polling thread looks again. Only the poller's own descriptor is written to here.
  int woken = machine_wake(&poll_channel, INT_MAX);
  if (counting) {
    total.woken += (uint64_t)woken;
  }
  return result;
}

void __wrap_gc_nanosleep(uint64_t duration) {
  enter();
  static const char nobody;
  block(&nobody, self->clock + duration);
}


// MARK: Time

uint64_t __wrap_gc_clock_uptime(void) {
  machine_spend(cost_clock);
  return boot_uptime + self->clock;
}

uint64_t __wrap_gc_clock_continuous(void) { return __wrap_gc_clock_uptime(); }

uint64_t __wrap_gc_clock_wall(void) {
  machine_spend(cost_clock);
  return boot_wall + self->clock;
}

uint64_t __wrap_gc_clock_thread_cpu(uint32_t tid) {
  enter();
  for (uint32_t i = 1; i < thread_count; i++) {
    if (threads[i].tid == tid && threads[i].state != thread_gone) return threads[i].busy;
  }
  return 0;
}

/// In place of the time stamp counter: a cycle takes a third of a nanosecond.
uint64_t machine_cycles(void) {
  machine_spend(cost_clock);
  return self->clock * 3;
}

/// In place of the processor's instruction.
void machine_pause(void) {
  if (self == NULL) return;
  machine_step();
  machine_spend(cost_pause);
}

/// In place of the processor's instruction.
void machine_prefetch_write(const void *address) {
  if (self == NULL) return;
  machine_step();
  cache_ask(address, __builtin_return_address(0));
}

// MARK: Threads

/// The machine's, not the one real processor of the process.
int __wrap_gc_affinity_count(void) { return most_threads; }
int __wrap_gc_online_processors(void) { return most_threads; }

REAL(int, gc_thread_start, gc_thread_body, void *, size_t);
int __wrap_gc_thread_start(gc_thread_body body, void *argument, size_t stack_size) {
  enter();
  if (counting) total.spawned++;
  thread *t = thread_create(body, argument);
  // The new thread may not be given a turn before it exists.
  self->unswitchable++;
  int result = __real_gc_thread_start(thread_run, t, stack_size);
  if (result != 0) machine_fail("a thread cannot be started");
  thread_await_arrival(t);
  self->unswitchable--;
  return result;
}

// MARK: The Swift runtime

typedef struct object {
  const void *type;
  uint64_t count;
} object;

static const uint64_t immortal_or_elsewhere = (uint64_t)1 << 63;

static void change_count(const object *o, const void *site) {
  if (self == NULL || (intptr_t)o <= 0) return;
  machine_step();
  bool changes = (o->count & immortal_or_elsewhere) == 0;
  cache_access(&o->count, sizeof(o->count), changes ? access_rmw : access_read, site);
  if (counting && changes) total.counts++;
}

REAL(object *, swift_retain, object *);
object *__wrap_swift_retain(object *o) {
  change_count(o, SITE);
  return __real_swift_retain(o);
}

REAL(object *, swift_retain_n, object *, uint32_t);
object *__wrap_swift_retain_n(object *o, uint32_t n) {
  change_count(o, SITE);
  return __real_swift_retain_n(o, n);
}

REAL(void, swift_release, object *);
void __wrap_swift_release(object *o) {
  change_count(o, SITE);
  __real_swift_release(o);
}

REAL(void, swift_release_n, object *, uint32_t);
void __wrap_swift_release_n(object *o, uint32_t n) {
  change_count(o, SITE);
  __real_swift_release_n(o, n);
}

REAL(object *, swift_allocObject, const void *, size_t, size_t);
object *__wrap_swift_allocObject(const void *type, size_t size, size_t alignment) {
  object *o = __real_swift_allocObject(type, size, alignment);
  if (self != NULL) cache_access(o, sizeof(*o), access_write, SITE);
  return o;
}

// A thread that waits for another's initialiser waits in the runtime or the C library, where the machine does not see
// it: so initialisers are not interrupted.

REAL(void, swift_once, intptr_t *, void (*)(void *), void *);
void __wrap_swift_once(intptr_t *predicate, void (*body)(void *), void *context) {
  if (self != NULL) self->unswitchable++;
  __real_swift_once(predicate, body, context);
  if (self != NULL) self->unswitchable--;
}

REAL(int, pthread_once, pthread_once_t *, void (*)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*body)(void)) {
  if (self != NULL) self->unswitchable++;
  int result = __real_pthread_once(once, body);
  if (self != NULL) self->unswitchable--;
  return result;
}
