// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the made-up machine's parts know of each other.
///
/// One kernel thread runs all fibres, and a fibre is left only at `machine_point` and `machine_block`. So a function does
/// its work in one step, after its point: that is the kernel's lock. Nothing here is atomic, and nothing asks the real
/// world: memory has fixed addresses, clocks are the core's.
///
/// Each part registers what makes it new again (`MACHINE_PART`); the core has all of them called before each run.

#ifndef GC_MACHINE_H
#define GC_MACHINE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "CPlatform.h"
#include "ck_machine.h"
#include "CheckerSeam.h"

// MARK: Settings

typedef struct machine_settings {
  uint32_t allowed;
  int processors;
  int descriptor_limit;
  int thread_limit;
} machine_settings;

extern machine_settings settings;

/// Whether the kernel refuses this time.
bool machine_refuses(uint32_t kind, const char *what);

/// Has `reset` called once when the process starts, and before each run.
void machine_add_part(void (*reset)(void));
#define MACHINE_PART(name, reset) \
  __attribute__((constructor)) static void add_##name(void) { machine_add_part(reset); }

// MARK: Points and waits

/// A step of the calling fibre's; nothing outside of a run.
void machine_point(const char *what, const void *address);
/// What the thread did to the object before comes before what the next one does: each kernel object has a lock.
void machine_sync(const void *object);
/// As `ck_block`, with the thread's state kept. Outside of a run there is no thread to wait for: fails.
int machine_block(const void *key, uint64_t deadline, bool spurious, const char *what);
/// Wakes all that wait on the key.
void machine_wake_all(const void *key);
uint64_t machine_uptime(void);
/// That many nanoseconds from now, at most never.
uint64_t machine_after(uint64_t nanoseconds);

// MARK: Threads

typedef struct machine_thread {
  bool exists;
  bool is_blocked;
  /// A signal has ended its wait.
  bool is_interrupted;
  /// Computing: blocked as far as the core knows, running as far as anybody can see.
  bool computes;
  const void *key;
  uint64_t running_since;
  uint64_t processor_time;
  uint64_t mask;
  char name[16];
  void (*at_exit)(void);
} machine_thread;

/// The calling thread's; the first one's outside of a run.
machine_thread *machine_self(void);
/// NULL if there is none of this number.
machine_thread *machine_thread_of(uint32_t number);

// MARK: Memory of the machine's own, zeroed; never given back within a run

void *machine_new(size_t size);

// MARK: Memory of the run's

/// Never refused; NULL only when the arena is full.
void *machine_allocate(size_t size, size_t alignment);
void machine_free(void *memory);
bool machine_owns(const void *memory);
/// Whether the block, which the machine owns, is not freed.
bool machine_is_made(const void *memory);
size_t machine_size_of(const void *memory);

// MARK: Clocks

extern uint64_t machine_wall_offset, machine_boot_offset;
/// When, by uptime, the clock (`GC_CLOCK_…`, 1 for uptime) shows that.
uint64_t machine_uptime_of(int clock, uint64_t instant);
/// The clocks have jumped: timers and waits that go by them look again. `was_set` is a step of the wall clock.
void machine_timers_jumped(bool was_set);
void machine_futexes_jumped(void);
/// The threads that waited are not in this process.
void machine_futexes_forked(void);

// MARK: Descriptors

typedef struct machine_file machine_file;
typedef struct machine_watch machine_watch;

typedef struct machine_kind {
  const char *name;
  /// The events (GC_EPOLL…) that are there now.
  uint32_t (*ready)(machine_file *file);
  /// Without waiting; -EAGAIN where a descriptor that blocks would. NULL: -EINVAL.
  ssize_t (*read)(machine_file *file, void *buffer, size_t count);
  ssize_t (*write)(machine_file *file, const void *buffer, size_t count);
  void (*closed)(machine_file *file);
  /// For `gc_descriptor_describe`.
  bool is_socket, is_pipe, is_file, keeps_messages;
  /// Whether epoll takes it.
  bool is_watchable;
} machine_kind;

/// An open file: what several numbers may stand for.
struct machine_file {
  const machine_kind *kind;
  int references;
  bool is_nonblocking, appends;
  /// The kind's own.
  void *state;
  int64_t position;
  machine_watch *watches;
};

/// A new descriptor of the lowest free number, or -errno.
int machine_open(const machine_kind *kind, void *state, bool is_nonblocking);
machine_file *machine_file_of(int fd);
/// What is open as `fd` is open as `number` instead, in the place of what was.
void machine_move(int fd, int number);
/// Something has happened to the file: `events` as the kernel tells it, 0 for everything.
void machine_notify(machine_file *file, uint32_t events);
void machine_forget_watches(machine_file *file);

extern const machine_kind machine_regular, machine_path;
/// Where the file's bytes are read and written, for calls that say where.
ssize_t machine_read_at(machine_file *file, void *buffer, size_t count, int64_t offset);
ssize_t machine_write_at(machine_file *file, const void *buffer, size_t count, int64_t offset);
uint64_t machine_file_size(machine_file *file);
/// A text that the kernel makes up: a file below /proc. NULL if the path is none.
machine_file *machine_proc_file(const char *path, int *fd);
/// How many bytes a pipe or socket holds, and has room for; false for another file.
bool machine_stream_bytes(machine_file *file, size_t *held, size_t *room);
/// Sends without a signal.
ssize_t machine_send(machine_file *file, const void *buffer, size_t count);

/// Files that inotify can watch, by number.
struct machine_inode {
  uint64_t number;
  char path[128];
  bool is_folder, is_linked;
  size_t size, room;
  char *bytes;
};
struct machine_inode *machine_inode_of(machine_file *file);
struct machine_inode *machine_inode_at(const char *path);
struct machine_inode *machine_folder_of(const char *path);
/// Tells the watches of the file itself of it, and those of its folder with the name.
void machine_tell(struct machine_inode *inode, const char *name, uint32_t events, uint32_t cookie);

// MARK: Signals

/// SIGPIPE for the calling thread.
void machine_broken_pipe(void);
/// A thread's mask has changed, or a wait begins that lets signals in: delivers what waits.
void machine_deliver_pending(uint64_t mask);

#endif
