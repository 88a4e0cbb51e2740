// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The made-up machine, for scenarios: what it allows, and what happens in its outside world. Everything is as before the
/// first run again when the next one begins. A scenario calls these from its threads; each is one step.

#ifndef CK_MACHINE_H
#define CK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// MARK: What may go wrong. Nothing may until a scenario allows it; then each time is a choice of the explorer's.

enum {
  /// Starting a thread: EAGAIN.
  CK_MACHINE_THREADS = 1,
  /// Allocations and mappings: NULL.
  CK_MACHINE_MEMORY = 2,
  /// New descriptors: EMFILE, also below the limit.
  CK_MACHINE_DESCRIPTORS = 4,
  /// Registrations with epoll and inotify: ENOSPC.
  CK_MACHINE_WATCHES = 8,
  /// Futex waits that end for no reason, and waits for events that a signal interrupts.
  CK_MACHINE_WAKES = 16,
  /// The barrier of the kernel's: ENOSYS. Chosen when it is registered.
  CK_MACHINE_BARRIER = 32,
};
void ck_machine_allow(uint32_t kinds);
void ck_machine_forbid(uint32_t kinds);

// MARK: The machine

/// How many processors there are; 2 at first.
void ck_machine_set_processors(int count);
/// Descriptors have numbers below this one; 256 at first.
void ck_machine_limit_descriptors(int limit);
/// Threads that may exist at a time, the scenario's own included; 64 at first.
void ck_machine_limit_threads(int limit);
/// An entry of the environment, which is empty at first. Both are literals.
void ck_machine_set_environment(const char *name, const char *value);
/// There is an io_uring. Requests complete by themselves after a while, or by `ck_machine_complete`.
void ck_machine_offer_rings(bool completes_by_itself);
/// Carries out the oldest request that waits; false if there is none.
bool ck_machine_complete(void);
/// There is a main queue of the toolchain's, to which the library may post; nobody runs it but the scenario.
void ck_machine_offer_main_queue(void);
/// Runs the oldest item there; false if there is none.
bool ck_machine_run_main_queue(void);

// MARK: Time

/// Sets the wall clock, by so many nanoseconds forwards or backwards.
void ck_machine_step_wall(int64_t nanoseconds);
/// The machine sleeps for so long: the wall clock and the continuous one go on, the uptime stands still.
void ck_machine_suspend(uint64_t nanoseconds);
/// The calling thread computes for so long: time passes, its processor time too, and it can be preempted.
void ck_machine_compute(uint64_t nanoseconds);
/// The processor does not tell how fast its counter is.
void ck_machine_hide_pace(void);
/// The uptime, without a step.
uint64_t ck_machine_now(void);

// MARK: Descriptors. Pipes are made by `gc_pipe`, and both ends used and closed as the library's own.

/// Two sockets that are connected, of streams, that do not block.
int ck_machine_sockets(int fds[2]);
/// The other end reads the end of the stream.
int ck_machine_end_writing(int socket);
/// A second number for the same open file; or -errno.
int ck_machine_duplicate(int fd);
/// How many descriptors are open; for leaks.
int ck_machine_open_descriptors(void);

// MARK: Files

/// Makes a file, or a folder if `contents` is NULL. Paths are absolute; a file's folder must be there, "/" is.
int ck_machine_make_file(const char *path, const char *contents);
/// Appends to it, from outside.
int ck_machine_append(const char *path, const char *contents);
/// Changes its attributes.
int ck_machine_touch(const char *path);
int ck_machine_remove_file(const char *path);
int ck_machine_rename(const char *from, const char *to);

// MARK: Signals and processes

/// A signal for the process. One that nobody handles ends the run as a failure.
void ck_machine_raise(int number);
/// The program ignores it: SIGPIPE, say.
void ck_machine_ignore_signal(int number);
/// How often the program's own handler has been called. The machine has one for each signal that was `handled`.
void ck_machine_handle_signal(int number);
uint32_t ck_machine_handled(int number);
/// All the program's threads block it from now on.
void ck_machine_block_signals(uint64_t mask);
/// A process; a child of ours or somebody else's. Returns its number.
int32_t ck_machine_start_process(bool is_child);
/// Its end: by a signal, or with a code.
void ck_machine_end_process(int32_t pid, bool was_killed, int status);
void ck_machine_reap_process(int32_t pid);
/// It forks, or executes a program: heard by connectors, if they are allowed.
void ck_machine_offer_connectors(void);
void ck_machine_process_forks(int32_t pid);
void ck_machine_process_executes(int32_t pid);

/// The process forks. The run goes on as the parent or, where this returns true, as the child: then the caller is the only
/// thread. Both are searched. A search to the end names its preemptions.
bool ck_machine_fork(void);

// MARK: Waits of the program's own, which the library does not see

/// Waits in the kernel until another thread wakes the key.
void ck_machine_wait(const void *key);
void ck_machine_wake(const void *key);

// MARK: Tasks, of the Swift runtime's; the runtime's own locks are not seen

/// Called by a task's canceller, before and after: it knows which waiter to tell, and the task goes on when that has been told.
void ck_machine_cancelling(bool begins);
/// Called by the waiter, once the runtime has noted that it is to be told.
void ck_machine_sync_tasks(void);

// MARK: Looking

/// What was written to standard error, up to 4 KiB.
const char *ck_machine_output(void);
/// Threads that exist, the scenario's own included.
int ck_machine_threads(void);
/// Bytes that are allocated and not freed, and how many blocks.
size_t ck_machine_allocated(size_t *blocks);
/// Bytes of the library's static variables, which each run finds as the program began.
size_t ck_machine_statics(void);
/// Whether the thread of this number waits in the kernel.
bool ck_machine_is_blocked(uint32_t thread);

#ifdef __cplusplus
}
#endif

#endif
