//===- CPlatform.h - the C that Swift cannot say ----------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The thread-local record, raw system calls, and the handful of libc calls
// that the engine needs. What has logic of its own is in the other headers
// here. The inner layers import this module instead of Glibc, so that the
// same sources compile as Embedded Swift. Every function that can fail
// returns -errno, never sets errno for the caller to look at.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_H
#define GC_CPLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

#if defined(__clang__)
#define GC_NONNULL _Nonnull
// Without this, one annotation would oblige all others. The annotations spare the hot path a test.
#pragma clang diagnostic ignored "-Wnullability-completeness"
#pragma clang diagnostic ignored "-Wnullability-completeness-on-arrays"
#else
#define GC_NONNULL
#endif

// MARK: - The thread-local record

/// What the engine keeps for each thread. One record, reached through one
/// address relative to the thread's own; all members start as zero.
typedef struct gc_thread {
  uint32_t tid;         ///< Owner id; 0 until the first `gc_thread_id`.
  uint32_t registered;  ///< Non-zero once the exit hook is armed.
  void *queue_context;  ///< Innermost queue that the thread runs an item of (layer 4).
  void *worker;         ///< The pool worker that this thread is, or NULL.
  void *loaded;         ///< NodeBatch in use: pointers to free nodes.
  void *spare;          ///< Second batch.
  uint32_t loaded_count;
  uint32_t loaded_limit;  ///< Nodes that `loaded` has room for; 0 without one.
  uint32_t spare_count;
  uint32_t qos;         ///< QoS the thread runs at; 0 = unspecified.
  uint32_t in_engine;   ///< Nesting depth of engine code, for fork.
  uint32_t bodies;      ///< How many bodies of onces the thread is inside of.
  void *parker;         ///< The thread's parker, made on first use.
  const void *pool;     ///< The queue pool that `pool_turn` is about (layer 4).
  uint32_t pool_turn;   ///< Where the thread goes on in it.
  void *farewells;      ///< Queues that this thread is about to release, while it does (layer 4).
  void *insight;          ///< The thread's entry in the insight region, once it has one.
  void *record_chunk;     ///< Where the thread's records go.
  uint32_t record_count;  ///< Records in it; without one, how many more are lost before the thread looks for room.
  uint32_t record_limit;  ///< Records that it has room for; 0 without one.
  uintptr_t group;        ///< The group that the item which runs leaves at its end, as a number (layer 4).
  void *simulated;        ///< What stands in for the kernel while the thread takes part in a simulation, else NULL.
  uint64_t pool_blocks;   ///< Signals that the thread blocks because pool threads do, if `mask_use` says that it is known: see Masks.c.
  uint64_t told_mask;     ///< The mask that the thread was told when it last changed it. It may put that back,
  uint64_t told_blocks;   ///< and those of it that it blocked because pool threads do.
  uint32_t mask_use;      ///< 1: has changed its mask; 2: has come out of a fork on such a thread.
  uintptr_t remote_call;  ///< The call of a thread that waits while this one runs its item, or 0 (layer 4).
} gc_thread;

// glibc keeps room for such records of libraries that are loaded late. musl refuses to load them: its libdispatch.so finds the record by a
// call. (`__GLIBC__` would not do here, as Swift does not see it.)
#if defined(GRANDCENTRAL_RECORD_BY_CALL)
#define GC_THREAD_RECORD __attribute__((tls_model("local-dynamic")))
#else
#define GC_THREAD_RECORD __attribute__((tls_model("initial-exec")))
#endif
#if defined(__GNUC__)
extern GC_THREAD_RECORD _Thread_local gc_thread gc_thread_record;
#endif

static inline __attribute__((always_inline)) gc_thread *GC_NONNULL gc_thread_self(void) {
  return &gc_thread_record;
}

/// The thread begins, or ends, a body that others may wait for.
static inline void gc_thread_enter_body(void) { gc_thread_record.bodies += 1; }
static inline void gc_thread_leave_body(void) { gc_thread_record.bodies -= 1; }
static inline bool gc_thread_is_in_body(void) { return gc_thread_record.bodies != 0; }

static inline uintptr_t gc_thread_remote_call(void) { return gc_thread_record.remote_call; }
static inline void gc_thread_set_remote_call(uintptr_t call) { gc_thread_record.remote_call = call; }

/// Fills in `tid` from the kernel.
uint32_t gc_thread_id_slow(void);

static inline __attribute__((always_inline)) uint32_t gc_thread_id(void) {
  uint32_t id = gc_thread_record.tid;
  return __builtin_expect(id != 0, 1) ? id : gc_thread_id_slow();
}

/// Tells the processor that this is a spin loop.
static inline __attribute__((always_inline)) void gc_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

/// Asks for the cache line at an address that is about to be used; any address will do.
static inline __attribute__((always_inline)) void gc_prefetch(const void *address) { __builtin_prefetch(address); }

/// As `gc_prefetch`, for a line that is about to be written: takes it away from other processors at once.
static inline __attribute__((always_inline)) void gc_prefetch_write(const void *address) {
#if defined(GC_PREFETCH_WRITE)
  // A simulated machine's.
  GC_PREFETCH_WRITE(address);
#elif defined(__x86_64__)
  // By name: the compiler's builtin asks to write only where the target is known to have the instruction; one that
  // lacks it does nothing.
  __asm__ volatile("prefetchw %0" ::"m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

/// A counter that is cheap to read, for pacing only: never for time. Its pace is the machine's; see Cycles.swift.
static inline __attribute__((always_inline)) uint64_t gc_cycles(void) {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#else
  extern uint64_t gc_clock_uptime(void);
  return gc_clock_uptime();
#endif
}

/// How often it counts in a second, where the architecture says so; 0 where that must be measured.
static inline uint64_t gc_cycles_per_second(void) {
#if defined(__x86_64__) || defined(__i386__)
  return 0;
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
  return v;
#else
  return 1000000000u;
#endif
}

// MARK: - Memory

// NULL where there is none, for all that allocates.
void *gc_malloc(size_t size);
void *gc_aligned_alloc(size_t alignment, size_t size);
void gc_free(void *memory);

/// Fresh zeroed pages: `size` bytes, a power of two, at an address that is a multiple of it.
void *gc_map(size_t size);
void gc_unmap(void *memory, size_t size);
/// Has the kernel provide the pages now rather than at their first use, if it can.
void gc_populate(void *memory, size_t size);

// MARK: - Futex. `deadline` is absolute, CLOCK_MONOTONIC; NULL waits for ever.

/// 0 woken, -EAGAIN value differed, -EINTR, -ETIMEDOUT.
int gc_futex_wait(const void *word, uint32_t expected, const struct timespec *deadline);
/// As above with the deadline on CLOCK_REALTIME.
int gc_futex_wait_wall(const void *word, uint32_t expected, const struct timespec *deadline);
/// Number of threads woken.
int gc_futex_wake(const void *word, int count);

// MARK: - Clocks, nanoseconds

uint64_t gc_clock_uptime(void);      ///< CLOCK_MONOTONIC
uint64_t gc_clock_continuous(void);  ///< CLOCK_BOOTTIME
uint64_t gc_clock_wall(void);        ///< CLOCK_REALTIME
/// CPU time a thread of this process has used; 0 when it cannot be read.
uint64_t gc_clock_thread_cpu(uint32_t tid);

// MARK: - Threads

typedef void (*gc_thread_body)(void *);
/// Starts a detached thread that blocks the signals that the program's threads
/// blocked when the first one was started. 0 or -errno. `stack_size` 0 takes
/// what a program's own threads have with glibc.
int gc_thread_start(gc_thread_body body, void *argument, size_t stack_size);
void gc_thread_set_name(const char *name);
/// Arms `hook` to run when the calling thread exits. 0 or -errno.
int gc_thread_at_exit(void (*hook)(void));
/// The process's id, which is also its first thread's.
uint32_t gc_process_id(void);
void gc_thread_set_timer_slack(unsigned long nanoseconds);
/// Sleeps in the kernel; used by cold back-off paths only.
void gc_nanosleep(uint64_t nanoseconds);
/// The same, whatever signals come meanwhile.
void gc_nanosleep_whole(uint64_t nanoseconds);

int gc_fork(void);

/// Number of processors that the process's first thread or the calling one may use, or -errno.
int gc_affinity_count(void);
int gc_online_processors(void);

/// Whether the process has never had a second thread, as far as the C library tells: musl does not.
bool gc_is_only_thread(void);
/// Registers the process for, and issues, a barrier that all its running threads pass.
int gc_membarrier_register(void);
/// Whether the kernel offers it.
bool gc_membarrier_is_offered(void);
int gc_membarrier(void);

// MARK: - Descriptors

int gc_open_read(const char *path);
/// Opens as O_PATH does: the descriptor stands for the file, and the file's driver does not notice.
int gc_open_path(const char *path);
int gc_close(int fd);
/// Bytes, or -errno. Repeats on EINTR.
ssize_t gc_read(int fd, void *buffer, size_t count);
ssize_t gc_write(int fd, const void *buffer, size_t count);
int gc_pipe(int fds[2]);

/// Whether the number is one of an open descriptor.
bool gc_is_open(int fd);
/// A descriptor of ours: `fd`, or a copy in its place if the number is one of the standard streams', which a program that has
/// closed these may take back with `dup2`. A negative number stays what it is, and -errno says that there is no room.
int gc_above_standard(int fd);

/// Which of `events` (GC_EPOLL…), errors and hang-ups are there now; 0 none; GC_POLLNVAL if `fd` is not open.
int gc_poll(int fd, uint32_t events);
/// Bytes that can be read, and written without blocking: an estimate; 0 when the kernel does not tell.
ssize_t gc_bytes_to_read(int fd);
/// Bytes behind the position of a regular file; 0 for another kind.
ssize_t gc_bytes_left(int fd);
ssize_t gc_room_to_write(int fd);

/// Which file the descriptor is of: a file that gets the number of one that is gone is a younger one. `birth` is 0 if the file system does
/// not tell. False if the descriptor is not open.
bool gc_file_identity(int fd, uint64_t *device, uint64_t *inode, uint64_t *birth);

/// Whether the descriptor is of what the kernel calls so, which has no place in a file system. The program may have closed the one that had the
/// number. Without /proc: whether it is of anything that has none.
bool gc_is_anonymous(int fd, const char *name);

int gc_eventfd(void);
/// In a forked child: a new one under the number of one that is the parent's too. The number, or -errno: then it is the parent's still.
int gc_eventfd_renew(int fd);
int gc_epoll_create(void);
int gc_epoll_add(int epfd, int fd, uint32_t events, uint64_t token);
int gc_epoll_modify(int epfd, int fd, uint32_t events, uint64_t token);
int gc_epoll_remove(int epfd, int fd);

typedef struct gc_epoll_event {
  uint32_t events;
  uint64_t token;
} gc_epoll_event;

/// `deadline_ns` relative; UINT64_MAX waits for ever. Count or -errno.
int gc_epoll_wait(int epfd, gc_epoll_event *events, int capacity, uint64_t timeout_ns);

enum { GC_CLOCK_WALL = 0, GC_CLOCK_BOOT = 7 };
int gc_timerfd_create(int clock);
/// Absolute; wall timers also report steps of the clock. 0 disarms.
int gc_timerfd_set(int fd, uint64_t deadline_ns, bool cancel_on_set);

// MARK: - Closures that do not escape

#if defined(__clang__)
/// The two words of a Swift closure. Declared to Swift by symbol name, with a closure that does not escape as its
/// argument: valid until the function that was given the closure returns.
__attribute__((swiftcall)) void gc_closure_words(const void *function, const void *context, const void **words);
/// The compiler knows one type for each name: closures of other types have functions of their own.
__attribute__((swiftcall)) void gc_loop_closure_words(const void *function, const void *context, const void **words);
__attribute__((swiftcall)) void gc_async_closure_words(const void *function, const void *context, const void **words);

/// Calls a closure of type `() -> Void` by its words: no retain, no copy.
static inline __attribute__((always_inline)) void gc_closure_call(const void *function, const void *context) {
  typedef __attribute__((swiftcall)) void (*closure)(__attribute__((swift_context)) const void *);
  ((closure)function)(context);
}

/// Calls a closure of one argument, an address, by its words.
static inline __attribute__((always_inline)) void gc_closure_call_with(
    const void *function, const void *context, void *GC_NONNULL argument) {
  typedef __attribute__((swiftcall)) void (*closure)(void *, __attribute__((swift_context)) const void *);
  ((closure)function)(argument, context);
}
#endif

// MARK: - Process

const char *gc_getenv(const char *name);
__attribute__((noreturn)) void gc_abort_slow(void);

typedef struct {
  long process;
  long thread;
} gc_thread_address;

/// Lets the calling thread receive SIGABRT, and says where it is.
void gc_prepare_abort(gc_thread_address *GC_NONNULL address);

/// Ends the process by SIGABRT, raised in the frame of the caller. `abort` raises it in frames of the C library, which
/// Swift's backtraces do not cross: the program's own frames would be missing.
__attribute__((noreturn)) static inline __attribute__((always_inline)) void gc_abort(void) {
  gc_thread_address here;
  gc_prepare_abort(&here);
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(234L), "D"(here.process), "S"(here.thread), "d"(6L)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long number __asm__("x8") = 131;
  register long process __asm__("x0") = here.process;
  register long thread __asm__("x1") = here.thread;
  register long signal __asm__("x2") = 6;
  __asm__ volatile("svc #0" : "+r"(process) : "r"(number), "r"(thread), "r"(signal) : "memory");
#endif
  // On other architectures, and where the program handles the signal and goes on.
  gc_abort_slow();
}
/// Text of an errno value; never NULL.
const char *gc_strerror(int code);

enum {
  GC_EPOLLIN = 0x001,
  GC_EPOLLPRI = 0x002,
  GC_EPOLLOUT = 0x004,
  GC_EPOLLERR = 0x008,
  GC_EPOLLHUP = 0x010,
  GC_POLLNVAL = 0x020,
  GC_EPOLLRDHUP = 0x2000,
  GC_EPOLLONESHOT = 1 << 30,
};
#define GC_EPOLLET 0x80000000u

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
