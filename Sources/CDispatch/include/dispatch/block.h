// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Work items: blocks that can be cancelled, waited for and followed up.

#ifndef DISPATCH_BLOCK_H
#define DISPATCH_BLOCK_H

#include <dispatch/base.h>
#include <dispatch/time.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// How a work item runs.
DISPATCH_ENUM(dispatch_block_flags, unsigned long,
  /// Alone, on a concurrent queue of the program's own.
  DISPATCH_BLOCK_BARRIER = 0x1,
  /// Takes nothing over from the thread that submits it.
  DISPATCH_BLOCK_DETACHED = 0x2,
  /// Takes over the quality of service of the thread that creates it.
  DISPATCH_BLOCK_ASSIGN_CURRENT = 0x4,
  /// Has no quality of service of its own.
  DISPATCH_BLOCK_NO_QOS_CLASS = 0x8,
  /// Prefers the queue's quality of service.
  DISPATCH_BLOCK_INHERIT_QOS_CLASS = 0x10,
  /// Has the more urgent of its own quality of service and the queue's, also beside `DISPATCH_BLOCK_INHERIT_QOS_CLASS`.
  DISPATCH_BLOCK_ENFORCE_QOS_CLASS = 0x20
);

#if DISPATCH_BLOCKS
/// A work item that runs `block`; released with `Block_release`.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_block_t dispatch_block_create(
    dispatch_block_flags_t flags, dispatch_block_t block);

/// As `dispatch_block_create`, with a quality of service. NULL if that is out of range.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_block_t dispatch_block_create_with_qos_class(
    dispatch_block_flags_t flags, dispatch_qos_class_t qos_class, int relative_priority, dispatch_block_t block);

/// Creates a work item, runs it here, and releases it.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_block_perform(dispatch_block_flags_t flags, DISPATCH_NOESCAPE dispatch_block_t block);

/// Waits until the item has run once; 0, or another number if `timeout` comes first.
DISPATCH_EXPORT DISPATCH_NOTHROW intptr_t dispatch_block_wait(dispatch_block_t block, dispatch_time_t timeout);

/// Submits `notification` to `queue` once the item has run.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_block_notify(
    dispatch_block_t block, dispatch_queue_t queue, dispatch_block_t notification);

/// Makes executions that have not begun do nothing.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_block_cancel(dispatch_block_t block);

/// Whether the item has been cancelled: 0 if not.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT intptr_t dispatch_block_testcancel(dispatch_block_t block);
#endif

DISPATCH_ASSUME_NONNULL_END

#endif
