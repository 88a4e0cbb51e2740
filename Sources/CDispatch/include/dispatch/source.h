// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Sources: what happens in the system, delivered to a queue.

#ifndef DISPATCH_SOURCE_H
#define DISPATCH_SOURCE_H

#include <dispatch/base.h>
#include <dispatch/time.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// What a source watches.
typedef const struct dispatch_source_type_s *dispatch_source_type_t;
struct dispatch_source_type_s;

/// The program reports numbers; `data` is their sum.
#define DISPATCH_SOURCE_TYPE_DATA_ADD (&_dispatch_source_type_data_add)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_data_add;
/// The program reports bits; `data` has all of them.
#define DISPATCH_SOURCE_TYPE_DATA_OR (&_dispatch_source_type_data_or)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_data_or;
/// The program reports values; `data` is the newest.
#define DISPATCH_SOURCE_TYPE_DATA_REPLACE (&_dispatch_source_type_data_replace)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_data_replace;
/// The peer of a pipe or socket has gone; the handle is the descriptor.
#define DISPATCH_SOURCE_TYPE_MACH_SEND (&_dispatch_source_type_mach_send)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_mach_send;
/// A message queue has something; the handle is its descriptor.
#define DISPATCH_SOURCE_TYPE_MACH_RECV (&_dispatch_source_type_mach_recv)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_mach_recv;
/// The machine runs short of memory; the mask has `DISPATCH_MEMORYPRESSURE_*`.
#define DISPATCH_SOURCE_TYPE_MEMORYPRESSURE (&_dispatch_source_type_memorypressure)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_memorypressure;
/// A process ends or does something; the handle is its number, the mask has `DISPATCH_PROC_*`.
#define DISPATCH_SOURCE_TYPE_PROC (&_dispatch_source_type_proc)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_proc;
/// A descriptor has something to read; `data` is an estimate of the bytes.
#define DISPATCH_SOURCE_TYPE_READ (&_dispatch_source_type_read)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_read;
/// A signal has come; `data` is how often.
#define DISPATCH_SOURCE_TYPE_SIGNAL (&_dispatch_source_type_signal)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_signal;
/// Time has passed; `data` is how often the timer has fired.
#define DISPATCH_SOURCE_TYPE_TIMER (&_dispatch_source_type_timer)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_timer;
/// An open file changes; the handle is its descriptor, the mask has `DISPATCH_VNODE_*`.
#define DISPATCH_SOURCE_TYPE_VNODE (&_dispatch_source_type_vnode)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_vnode;
/// A descriptor has room to write; `data` is an estimate of the bytes.
#define DISPATCH_SOURCE_TYPE_WRITE (&_dispatch_source_type_write)
DISPATCH_EXPORT const struct dispatch_source_type_s _dispatch_source_type_write;

/// The mask of a mach send source, and what it reports.
typedef unsigned long dispatch_source_mach_send_flags_t;
#define DISPATCH_MACH_SEND_DEAD 0x1

/// The mask of a memory pressure source, and what it reports.
typedef unsigned long dispatch_source_memorypressure_flags_t;
#define DISPATCH_MEMORYPRESSURE_NORMAL 0x01
#define DISPATCH_MEMORYPRESSURE_WARN 0x02
#define DISPATCH_MEMORYPRESSURE_CRITICAL 0x04

/// The mask of a process source, and what it reports.
typedef unsigned long dispatch_source_proc_flags_t;
#define DISPATCH_PROC_EXIT 0x80000000
#define DISPATCH_PROC_FORK 0x40000000
#define DISPATCH_PROC_EXEC 0x20000000
#define DISPATCH_PROC_SIGNAL 0x08000000

/// The mask of a file source, and what it reports.
typedef unsigned long dispatch_source_vnode_flags_t;
#define DISPATCH_VNODE_DELETE 0x1
#define DISPATCH_VNODE_WRITE 0x2
#define DISPATCH_VNODE_EXTEND 0x4
#define DISPATCH_VNODE_ATTRIB 0x8
#define DISPATCH_VNODE_LINK 0x10
#define DISPATCH_VNODE_RENAME 0x20
#define DISPATCH_VNODE_REVOKE 0x40
#define DISPATCH_VNODE_FUNLOCK 0x100

/// The mask of a timer.
typedef unsigned long dispatch_source_timer_flags_t;
/// The mask of a timer that is to be punctual whatever is done elsewhere to save wake-ups.
#define DISPATCH_TIMER_STRICT 0x1

/// An inactive source with one reference; NULL if the kind, handle and mask do not go together. NULL as the queue stands
/// for the default global queue.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_source_t dispatch_source_create(
    dispatch_source_type_t type, uintptr_t handle, uintptr_t mask, dispatch_queue_t DISPATCH_NULLABLE queue);

#if DISPATCH_BLOCKS
/// Sets what runs when something has happened; NULL takes it away.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_event_handler(dispatch_source_t source, dispatch_block_t DISPATCH_NULLABLE handler);
#endif

/// As `dispatch_source_set_event_handler`, with a function, which gets the source's context: the one that an active source has at
/// this call, and another one at its first event.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_event_handler_f(dispatch_source_t source, dispatch_function_t DISPATCH_NULLABLE handler);

#if DISPATCH_BLOCKS
/// Sets what runs once after the source has been cancelled; NULL takes it away.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_cancel_handler(dispatch_source_t source, dispatch_block_t DISPATCH_NULLABLE handler);
#endif

/// As `dispatch_source_set_cancel_handler`, with a function, which gets the source's context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_cancel_handler_f(dispatch_source_t source, dispatch_function_t DISPATCH_NULLABLE handler);

#if DISPATCH_BLOCKS
/// Sets what runs once when the source has begun to watch; NULL takes it away.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_registration_handler(dispatch_source_t source, dispatch_block_t DISPATCH_NULLABLE handler);
#endif

/// As `dispatch_source_set_registration_handler`, with a function, which gets the source's context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_registration_handler_f(dispatch_source_t source, dispatch_function_t DISPATCH_NULLABLE handler);

/// Ends the source: no handler begins any more but the cancel handler, once. Descriptors may be closed from then on.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_cancel(dispatch_source_t source);

/// Whether the source has been cancelled: 0 if not.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT intptr_t dispatch_source_testcancel(dispatch_source_t source);

/// What the source was created with.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT uintptr_t dispatch_source_get_handle(dispatch_source_t source);
/// What the source was created with.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT uintptr_t dispatch_source_get_mask(dispatch_source_t source);
/// What the running handler was called for.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT uintptr_t dispatch_source_get_data(dispatch_source_t source);

/// Reports `value` to a source of one of the three data kinds. As all functions, not for handlers of signals: see dispatch.h.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_merge_data(dispatch_source_t source, uintptr_t value);

/// Has a timer fire at `start`, and then every `interval` nanoseconds (for ever: never again), each time up to `leeway`
/// nanoseconds late.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_source_set_timer(
    dispatch_source_t source, dispatch_time_t start, uint64_t interval, uint64_t leeway);

DISPATCH_ASSUME_NONNULL_END

#endif
