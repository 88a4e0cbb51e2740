//===- CSimulation.h - a process that is simulated ---------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What stands in for the C library while a whole process is a run of a
// simulation, and what that asks of the testing kit. A function of the C
// library that is replaced here does what it always does, unless the calling
// thread is simulated.
//
//===----------------------------------------------------------------------===//
#ifndef C_SIMULATION_H
#define C_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: - What the kit does, on simulated threads; in DispatchSimulation

/// What a thread waits for.
enum gcs_kind {
  GCS_LOCK,
  GCS_CONDITION,
  GCS_SEMAPHORE,
  GCS_THREAD,
  GCS_BARRIER,
  GCS_ONCE,
  GCS_FUTEX,
};

/// The main thread is about to call the program's `main`.
void gcs_begin(void);

/// The process is about to end with the code.
void gcs_end(int code);
/// The same, on a thread that is not simulated: only what the handler of a signal may do.
void gcs_end_aside(int code);

/// Virtual nanoseconds: of the uptime clock, and how far the wall clock is ahead of it.
uint64_t gcs_now(void);
uint64_t gcs_wall_distance(void);

/// Lets virtual time pass.
void gcs_sleep(uint64_t nanoseconds);

/// Waits until the workers of queues have ended: they do so when they have been idle for a while. One that waits for ever is a
/// deadlock. By the first thread.
void gcs_outlive_workers(void);

/// Another thread may go on here, before the calling one locks something; or because it lets others go on.
void gcs_point(void);
void gcs_yield(void);

/// Waits until `gcs_wake` is called with the address, or until the virtual instant; false for the latter. `owner` is the kernel's
/// id of the thread that holds what is waited for, or 0.
bool gcs_wait(const void *address, enum gcs_kind kind, uint32_t owner, uint64_t deadline);

/// The same. The words say what the thread does: "reads descriptor 5, a pipe".
bool gcs_wait_described(const void *address, const char *words, uint64_t deadline);

/// Wakes up to so many that wait for the address, and says how many those are.
int gcs_wake(const void *address, int count, bool is_point);

/// Lets the library's own polls look again; whether there are any.
bool gcs_end_polls(void);

/// Another thread may go on here: before something is done with a descriptor, and behind what has ended waits.
void gcs_descriptor_point(void);
void gcs_done(void);

/// The calling thread has got on, without a point.
void gcs_count_step(void);

/// The calling thread is about to start one, which is called by this from then on.
void *gcs_thread_make(void);
/// It has been started, and takes part; or it could not be started.
void gcs_thread_add(void *thread);
void gcs_thread_drop(void *thread);
/// The calling thread is that one: waits for its first turn; or is about to end.
void gcs_thread_enter(void *thread);
void gcs_thread_leave(void *thread);
/// The thread waits no longer, for whatever that was.
void gcs_thread_interrupt(void *thread);

/// Random bytes: the same ones in each run.
void gcs_random(void *bytes, size_t count);

// MARK: - What the kit asks for

/// No thread can go on: lets those that wait for descriptors which have become ready. Whether there are any.
bool gcs_look(void);

/// Waits in real time, for so long at most, for what others than the process may make ready. Whether something has come.
bool gcs_await_outside(uint64_t nanoseconds);

/// The instant at which a timer's descriptor becomes ready next, if a thread waits for descriptors, or a signal is due; UINT64_MAX is never.
uint64_t gcs_next_expiration(bool is_polled);

/// Lets timers expire, and looks. Whether any has.
bool gcs_time_has_passed(void);

/// Has the handler called on the thread that receives a signal by which programs bring themselves down, before it does.
void gcs_catch_signals(void (*handler)(int));

/// Whether there may be threads of the program that take no part: one that runs before `main` has started them, or they one another.
bool gcs_has_outsiders(void);

/// Starts a thread that is none of the program's: it receives no signal that the process is sent. Whether there is one.
bool gcs_start_beside(void (*body)(void));

/// Whether the program has sent itself a signal, which may end what is not seen to end.
bool gcs_has_signalled(void);

/// Whether the kernel may yet send it one: by a timer, or because a child ends.
bool gcs_may_be_signalled(void);

/// Whether a thread waits for a signal, which another process may send.
bool gcs_awaits_signals(void);

/// The process's first thread is called so from now on.
void gcs_name_main(uint32_t id);

/// Ends the process at once.
_Noreturn void gcs_exit_now(int code);

/// What the kernel says that the thread does: "waits in the call read of descriptor 0, /dev/null"; empty if that is not known.
void gcs_describe_call(uint32_t thread, char *text, size_t room);

/// Does as `open`, also where the process has as many descriptors as it may have. A file that is new is its owner's alone.
int gcs_open_beyond(const char *path, int flags);

/// How often the program has read from something outside that answered at once, and what that is; 0 behind the last one.
unsigned gcs_times_outside(unsigned index, const char **name);

/// The addresses that the calling thread returns to, the innermost first. How many there are, up to `most`.
int gcs_walk_stack(void **addresses, int most);

/// Writes out what the program has given to its standard output by stdio. A thread that stands still may have locked that: then it stays
/// what it is.
void gcs_flush(void);

#endif
