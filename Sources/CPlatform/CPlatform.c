// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Here and not in the header: feature macros must not change system types
// that Swift sees through other modules too.
#define _GNU_SOURCE 1
#include "CPlatform.h"
#include "CPlatformSignals.h"
#include "Uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

_Thread_local gc_thread gc_thread_record;

uint32_t gc_thread_id_slow(void) {
  uint32_t id = (uint32_t)syscall(SYS_gettid);
  gc_thread_record.tid = id;
  return id;
}

static inline long result(long value) { return value < 0 ? -errno : value; }

// MARK: Memory

void *gc_malloc(size_t size) { return malloc(size); }

void *gc_aligned_alloc(size_t alignment, size_t size) {
  void *memory = NULL;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void gc_free(void *memory) { free(memory); }

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GC_MAP_FROM_ALLOCATOR 1
#endif
#endif

#ifndef GC_MAP_FROM_ALLOCATOR
static char *map(void *hint, size_t size) {
  char *memory = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/// For when there is no room for twice the size: the place below one that was free is most likely free as well.
static void *map_tightly(size_t size) {
  char *memory = map(NULL, size);
  if (memory == NULL) return NULL;
  size_t beyond = (uintptr_t)memory & (size - 1);
  if (beyond == 0) return memory;
  munmap(memory, size);
  char *wanted = memory - beyond;
  memory = map(wanted, size);
  if (memory == wanted) return memory;
  if (memory != NULL) munmap(memory, size);
  return NULL;
}
#endif

void *gc_map(size_t size) {
#ifdef GC_MAP_FROM_ALLOCATOR
  // The leak checker follows pointers only through memory of the allocator's.
  void *memory = gc_aligned_alloc(size, size);
  return memory == NULL ? NULL : memset(memory, 0, size);
#else
  // Kernels since 6.7 put what is as large as a huge page where one could lie.
  char *memory = map(NULL, size);
  if (memory == NULL || ((uintptr_t)memory & (size - 1)) == 0) return memory;
  munmap(memory, size);
  memory = map(NULL, 2 * size);
  if (memory == NULL) return map_tightly(size);
  size_t before = -(uintptr_t)memory & (size - 1);
  if (before != 0) munmap(memory, before);
  munmap(memory + before + size, size - before);
  return memory + before;
#endif
}

void gc_unmap(void *memory, size_t size) {
#ifdef GC_MAP_FROM_ALLOCATOR
  free(memory);
#else
  munmap(memory, size);
#endif
}

void gc_populate(void *memory, size_t size) {
#ifdef MADV_POPULATE_WRITE
  madvise(memory, size, MADV_POPULATE_WRITE);
#elif defined(__linux__)
  madvise(memory, size, 23);
#endif
}

// MARK: Futex

static int futex_wait(const void *word, uint32_t expected, const struct timespec *deadline, int clock) {
  long r = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE | clock, expected, deadline, NULL,
                   FUTEX_BITSET_MATCH_ANY);
  return (int)result(r);
}

int gc_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline) {
  return futex_wait(word, expected, deadline, 0);
}

int gc_futex_wait_wall(const void *word, uint32_t expected, const struct timespec *deadline) {
  return futex_wait(word, expected, deadline, FUTEX_CLOCK_REALTIME);
}

int gc_futex_wake(const void *word, int count) {
  return (int)result(syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0));
}

// MARK: Clocks

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t gc_clock_uptime(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t gc_clock_continuous(void) { return read_clock(CLOCK_BOOTTIME); }
uint64_t gc_clock_wall(void) { return read_clock(CLOCK_REALTIME); }

uint64_t gc_clock_thread_cpu(uint32_t tid) {
  // The kernel's encoding of "CPU clock of thread tid": complement of the id,
  // shifted, with the per-thread and scheduler-time bits.
  clockid_t clock = (clockid_t)((~tid << 3) | 6u);
  return read_clock(clock);
}

// MARK: Descriptors

int gc_open_path(const char *path) { return (int)result(raw_open(path, O_PATH | O_CLOEXEC)); }

int gc_open_read(const char *path) { return (int)result(raw_open(path, O_RDONLY | O_CLOEXEC)); }
int gc_close(int fd) { return (int)result(raw_close(fd)); }

ssize_t gc_read(int fd, void *buffer, size_t count) {
  for (;;) {
    long r = result(raw_read(fd, buffer, count));
    if (r != -EINTR) return r;
  }
}

ssize_t gc_write(int fd, const void *buffer, size_t count) {
  for (;;) {
    long r = result(raw_write(fd, buffer, count));
    if (r != -EINTR) return r;
  }
}

int gc_pipe(int fds[2]) { return (int)result(pipe2(fds, O_CLOEXEC | O_NONBLOCK)); }

int gc_eventfd(void) { return gc_above_standard((int)result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))); }

bool gc_is_anonymous(int fd, const char *name) {
  struct stat status;
  if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != 0) return false;
  char path[32], found[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(path, found, sizeof found);
  return length < 0 || ((size_t)length == strlen(name) && memcmp(found, name, (size_t)length) == 0);
}

int gc_eventfd_renew(int fd) {
  if (!gc_is_anonymous(fd, "anon_inode:[eventfd]")) return -EBADF;
  int fresh = gc_eventfd();
  if (fresh < 0) return fresh;
  int renewed = (int)result(dup3(fresh, fd, O_CLOEXEC));
  raw_close(fresh);
  return renewed;
}

int gc_epoll_create(void) { return gc_above_standard((int)result(epoll_create1(EPOLL_CLOEXEC))); }

static int epoll_control(int epfd, int operation, int fd, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return (int)result(epoll_ctl(epfd, operation, fd, &event));
}

int gc_epoll_add(int epfd, int fd, uint32_t events, uint64_t token) {
  return epoll_control(epfd, EPOLL_CTL_ADD, fd, events, token);
}

int gc_epoll_modify(int epfd, int fd, uint32_t events, uint64_t token) {
  return epoll_control(epfd, EPOLL_CTL_MOD, fd, events, token);
}

int gc_epoll_remove(int epfd, int fd) { return epoll_control(epfd, EPOLL_CTL_DEL, fd, 0, 0); }

int gc_epoll_wait(int epfd, gc_epoll_event *events, int capacity, uint64_t timeout_ns) {
  enum { most = 128 };
  struct epoll_event raw[most];
  if (capacity > most) capacity = most;
  struct timespec t;
  struct timespec *timeout = NULL;
  if (timeout_ns != UINT64_MAX) {
    t.tv_sec = (time_t)(timeout_ns / 1000000000u);
    t.tv_nsec = (long)(timeout_ns % 1000000000u);
    timeout = &t;
  }
  // A watched signal that all threads block is let in here.
  uint64_t mask, *open = gc_signals_wait_mask(&mask) ? &mask : NULL;
  // The kernel lets none into a wait that does not sleep.
  if (open != NULL && timeout_ns == 0 && mask != gc_signals_pool_mask()) gc_signals_set_mask(gc_signals_set_mask(mask));
  int count = -1;
#ifdef SYS_epoll_pwait2
  // Kernels before 5.11 do not know the call, and filters made before then refuse it with any error: it is not asked again.
  static _Atomic(bool) is_refused;
  if (!atomic_load_explicit(&is_refused, memory_order_relaxed)) {
    count = (int)syscall(SYS_epoll_pwait2, epfd, raw, capacity, timeout, open, sizeof mask);
    if (count < 0 && errno == EINTR) count = raw_epoll_wait(epfd, raw, capacity, 0);  // The signal has been counted meanwhile.
    if (count < 0 && (errno == EBADF || errno == EINVAL || errno == EFAULT)) return -errno;
    if (count < 0) atomic_store_explicit(&is_refused, true, memory_order_relaxed);
  }
#endif
  if (count < 0) {
    // The older call counts in milliseconds: round up, a timer is never early.
    int milliseconds = -1;
    if (timeout != NULL) {
      uint64_t rounded = timeout_ns / 1000000u + (timeout_ns % 1000000u != 0);
      milliseconds = rounded > INT32_MAX ? INT32_MAX : (int)rounded;
    }
    count = (int)syscall(SYS_epoll_pwait, epfd, raw, capacity, milliseconds, open, sizeof mask);
    if (count < 0 && errno == EINTR) count = raw_epoll_wait(epfd, raw, capacity, 0);
    // Where it is a call of its own, a filter may let it pass.
    if (count < 0 && errno != EBADF && errno != EINVAL) count = raw_epoll_wait(epfd, raw, capacity, milliseconds);
    if (count < 0) return -errno;
  }
  for (int i = 0; i < count; i++) {
    events[i].events = raw[i].events;
    events[i].token = raw[i].data.u64;
  }
  return count;
}

int gc_timerfd_create(int clock) {
  return gc_above_standard((int)result(timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK)));
}

int gc_timerfd_set(int fd, uint64_t deadline_ns, bool cancel_on_set) {
  struct itimerspec spec = {
      .it_value = {.tv_sec = (time_t)(deadline_ns / 1000000000u), .tv_nsec = (long)(deadline_ns % 1000000000u)}};
  int flags = TFD_TIMER_ABSTIME | (cancel_on_set ? TFD_TIMER_CANCEL_ON_SET : 0);
  return (int)result(timerfd_settime(fd, flags, &spec, NULL));
}

// MARK: Closures that do not escape

__attribute__((swiftcall)) void gc_closure_words(const void *function, const void *context, const void **words) {
  words[0] = function;
  words[1] = context;
}

__attribute__((swiftcall)) void gc_loop_closure_words(const void *function, const void *context, const void **words) {
  gc_closure_words(function, context, words);
}

__attribute__((swiftcall)) void gc_async_closure_words(const void *function, const void *context, const void **words) {
  gc_closure_words(function, context, words);
}

// MARK: Process

const char *gc_getenv(const char *name) { return getenv(name); }
void gc_abort_slow(void) { abort(); }

void gc_prepare_abort(gc_thread_address *address) {
  sigset_t aborting;
  sigemptyset(&aborting);
  sigaddset(&aborting, SIGABRT);
  pthread_sigmask(SIG_UNBLOCK, &aborting, NULL);
  address->process = getpid();
  address->thread = (int)syscall(SYS_gettid);
}

const char *gc_strerror(int code) {
#if defined(__GLIBC__)
  // `strerror` translates, and may allocate.
  const char *text = strerrordesc_np(code);
#else
  const char *text = strerror(code);
#endif
  return text != NULL ? text : "unknown error";
}
