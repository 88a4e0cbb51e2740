// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Channels: reading and writing descriptors without waiting for them.

#ifndef DISPATCH_IO_H
#define DISPATCH_IO_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN

typedef int dispatch_fd_t;

/// Whether operations follow each other, or each has its own offset.
typedef unsigned long dispatch_io_type_t;
#define DISPATCH_IO_STREAM 0
#define DISPATCH_IO_RANDOM 1

/// How a channel is closed.
typedef unsigned long dispatch_io_close_flags_t;
/// Interrupts what is pending.
#define DISPATCH_IO_STOP 0x1

/// How the interval of a channel is kept.
typedef unsigned long dispatch_io_interval_flags_t;
/// Reports what there is at each interval, even if that is below the low water.
#define DISPATCH_IO_STRICT_INTERVAL 0x1

#if DISPATCH_BLOCKS
/// Gets the descriptor's last error, or 0, when the channel has given it back.
DISPATCH_BLOCK_TYPE(dispatch_io_cleanup_t, void, int error);
/// Gets the pieces of an operation, and with the last one `done`.
DISPATCH_BLOCK_TYPE(dispatch_io_handler_t, void, bool done, dispatch_data_t DISPATCH_NULLABLE data, int error);
/// Gets the outcome of a single operation.
DISPATCH_BLOCK_TYPE(dispatch_io_read_handler_t, void, dispatch_data_t data, int error);
DISPATCH_BLOCK_TYPE(dispatch_io_write_handler_t, void, dispatch_data_t DISPATCH_NULLABLE data, int error);

/// Reads up to `length` bytes, and hands them to `handler` on `queue`.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_read(
    dispatch_fd_t descriptor, size_t length, dispatch_queue_t queue, dispatch_io_read_handler_t handler);

/// Writes all of `data`; `handler` gets what could not be written.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_write(
    dispatch_fd_t descriptor, dispatch_data_t data, dispatch_queue_t queue, dispatch_io_write_handler_t handler);

/// A channel that owns `descriptor` until `cleanup` runs on `queue`.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_io_t dispatch_io_create(
    dispatch_io_type_t type, dispatch_fd_t descriptor, dispatch_queue_t queue, dispatch_io_cleanup_t cleanup);

/// A channel that opens the file at an absolute path when it is first needed, and closes it. NULL for another path.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_io_t dispatch_io_create_with_path(
    dispatch_io_type_t type, const char *path, int open_flags, mode_t mode, dispatch_queue_t queue,
    dispatch_io_cleanup_t cleanup);

/// A channel that shares the descriptor or path of another.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_io_t dispatch_io_create_with_io(
    dispatch_io_type_t type, dispatch_io_t io, dispatch_queue_t queue, dispatch_io_cleanup_t cleanup);

/// Reads up to `length` bytes; `SIZE_MAX` reads to the end. `offset` counts for random access only.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_read(
    dispatch_io_t channel, off_t offset, size_t length, dispatch_queue_t queue, dispatch_io_handler_t handler);

/// Writes `data`; the handler learns what remains.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_write(
    dispatch_io_t channel, off_t offset, dispatch_data_t data, dispatch_queue_t queue, dispatch_io_handler_t handler);

/// Runs `barrier` between the operations before and those after.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_barrier(dispatch_io_t channel, dispatch_block_t barrier);
#endif

/// No new operations; the pending ones finish, or end with `DISPATCH_IO_STOP`.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_close(dispatch_io_t channel, dispatch_io_close_flags_t flags);

/// The descriptor; -1 once the channel is closed, and before a path is opened. A barrier that was submitted before
/// `dispatch_io_close` has it nevertheless, unless the channel is stopped; a path is opened for it.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_fd_t dispatch_io_get_descriptor(dispatch_io_t channel);

/// The most bytes that one call of a handler gets.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_set_high_water(dispatch_io_t channel, size_t high_water);

/// The least bytes that are worth a call, but for the last.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_set_low_water(dispatch_io_t channel, size_t low_water);

/// Has handlers called every `interval` nanoseconds while an operation lasts.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_io_set_interval(
    dispatch_io_t channel, uint64_t interval, dispatch_io_interval_flags_t flags);

DISPATCH_ASSUME_NONNULL_END

#endif
