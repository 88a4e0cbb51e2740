//===- Descriptors.h - what waits for descriptors ----------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// One simulated thread runs at a time, so nothing behind this needs a lock.
//
//===----------------------------------------------------------------------===//
#ifndef GCS_DESCRIPTORS_H
#define GCS_DESCRIPTORS_H

#include "Real.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

// MARK: The C library's; in Next.c, and where they are replaced

int __wrap_poll(struct pollfd *polled, nfds_t count, int milliseconds);
ssize_t gcs_next_read(int descriptor, void *bytes, size_t count);
ssize_t gcs_next_write(int descriptor, const void *bytes, size_t count);
ssize_t gcs_next_readv(int descriptor, const struct iovec *parts, int count);
ssize_t gcs_next_writev(int descriptor, const struct iovec *parts, int count);
ssize_t gcs_next_recv(int descriptor, void *bytes, size_t count, int flags);
ssize_t gcs_next_send(int descriptor, const void *bytes, size_t count, int flags);
ssize_t gcs_next_recvmsg(int descriptor, struct msghdr *message, int flags);
ssize_t gcs_next_sendmsg(int descriptor, const struct msghdr *message, int flags);
int gcs_next_fcntl(int descriptor, int command, void *argument);
int gcs_next_close(int descriptor);

// MARK: What a descriptor is; in Inside.c

/// What only this process makes ready, and all else.
enum gcs_place { GCS_OUTSIDE, GCS_PIPE, GCS_SOCKET, GCS_COUNTER, GCS_TIMER, GCS_EPOLL };

enum gcs_place gcs_place_of(int descriptor);
static inline bool gcs_transfers(enum gcs_place place) { return place != GCS_OUTSIDE && place != GCS_EPOLL; }

/// On which sides that is which makes the descriptor ready. An epoll has those of all that it watches, and may have none.
enum gcs_sides { GCS_HAS_INSIDE = 1, GCS_HAS_OUTSIDE = 2 };
unsigned gcs_sides_of(int descriptor);

/// "descriptor 5, a pipe". What it is called is static.
const char *gcs_name_of(enum gcs_place place);

/// Calls the function with each descriptor of the process. False if they cannot be listed.
bool gcs_for_each_descriptor(void (*body)(int descriptor));

/// The thread is about to read from a descriptor that is not inside; in Outside.c.
void gcs_note_outside(int descriptor);

/// A message has descriptors with it, which may be the only ones of something: what is closed is not forgotten from now on.
void gcs_keep_closed(void);

/// Another process has that pipe or socket pair from now on; or all of them.
void gcs_let_go(int descriptor);
void gcs_let_all_go(void);
/// The same for all that a program would have that takes this one's place.
void gcs_let_inherited_go(void);

// MARK: Waits for descriptors; in Watches.c

/// A wait, on the stack of the thread that waits.
struct gcs_watch {
  struct pollfd *polled;
  nfds_t count;
  /// The events that count, of each; NULL if all do.
  const short *wanted;
  /// Only the thread itself can say: a signal may come with the poll's mask.
  bool asks_itself;
  /// Whatever changes may end it: what it waits for is no event of a poll.
  bool waits_for_change;
  /// Also what is outside may end it.
  bool is_mixed;
  bool is_listed, is_woken;
  struct gcs_watch *next;
};

/// Waits until a descriptor of it may be ready, or until the virtual instant; false for the latter. A point at which the thread may be
/// cancelled: `gcs_unwatch` is called behind the last wait, also then.
bool gcs_watch_wait(struct gcs_watch *watch, const char *words, uint64_t deadline);
void gcs_unwatch(void *watch);

/// How many of them have events that count.
int gcs_count_ready(const struct pollfd *polled, nfds_t count, const short *wanted);

/// A descriptor may have become ready: what waits for it goes on, at a point if that is one. Nothing on a thread that is not simulated.
void gcs_descriptors_changed(bool is_point);

/// Another process has something that was inside, or what is outside is watched as well: it may end what waits for that.
void gcs_watches_let_go(void);

/// The number is about to be another one's, or none. What waits for it goes on waiting for what it was, as in the kernel.
void gcs_number_goes(int descriptor);

// MARK: Timers by descriptors; in Timers.c

void gcs_timer_copied(int from, int to);
void gcs_timer_number_goes(int descriptor);
/// Takes the expirations that have not been read; 0 if it is not known.
uint64_t gcs_timer_take(int descriptor);
/// The next instant at which one becomes ready; UINT64_MAX is never.
uint64_t gcs_timer_next(void);

// MARK: Signals; in Signals.c, Alarms.c and SignalWaits.c

/// Sends the process a signal while no thread has the turn, and waits until its handler is back.
void gcs_send_aside(int number);
/// The process has been sent one: threads that wait for signals look again, and those that wait for what a handler may have done.
void gcs_signal_sent(void);
/// Semaphores may have been posted on threads that have no turn; in Gates.c.
void gcs_handlers_posted(void);
/// Whether the main thread waits for a handler, and lets the signal through. By the thread that has the turn.
bool gcs_main_awaits(int number);
/// The virtual instant of the next SIGALRM; UINT64_MAX is never. Sends it if that has come, and says so.
uint64_t gcs_alarm_next(void);
bool gcs_alarm_expire(void);

// MARK: Transfers; in Transfers.c

struct gcs_transfer {
  int descriptor;
  enum gcs_place place;
  bool writes;
  /// Whether the program itself has called.
  bool is_points;
  /// Of recv and send.
  int flags;
  /// Its parts are replaced meanwhile; what the kernel writes into it stays.
  struct msghdr *message;
};

/// Reads or writes, and waits in the simulation where the kernel would.
ssize_t gcs_transfer(struct gcs_transfer *transfer);

#define GCS_DESCRIPTOR_POINT() \
  if (gcs_is_in_program(__builtin_return_address(0))) gcs_descriptor_point()

/// Declares the place of the descriptor, outside on a thread that is not simulated, and whether the program itself calls. Then another
/// thread may go on before.
#define GCS_PLACE(descriptor)                                                              \
  enum gcs_place place = gcs_is_simulated() ? gcs_place_of(descriptor) : GCS_OUTSIDE;      \
  bool is_points = place != GCS_OUTSIDE && gcs_is_in_program(__builtin_return_address(0)); \
  if (is_points) gcs_descriptor_point()

#endif
