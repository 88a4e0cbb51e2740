// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Groups: a count of things under way, and what to do when it comes to zero.

#ifndef DISPATCH_GROUP_H
#define DISPATCH_GROUP_H

#include <dispatch/base.h>
#include <dispatch/time.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// An empty group with one reference.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_group_t dispatch_group_create(void);

#if DISPATCH_BLOCKS
/// Enters the group, runs `work` on `queue`, and leaves.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work);
#endif

/// As `dispatch_group_async`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_async_f(
    dispatch_group_t group, dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

/// Waits until nothing is under way: 0, or another number if `timeout` comes first.
DISPATCH_EXPORT DISPATCH_NOTHROW intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout);

#if DISPATCH_BLOCKS
/// Submits `work` to `queue` once nothing is under way; at once if nothing is now.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work);
#endif

/// As `dispatch_group_notify`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_notify_f(
    dispatch_group_t group, dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

/// One more thing is under way. Balance it with `dispatch_group_leave`.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_enter(dispatch_group_t group);

/// One thing is done.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_group_leave(dispatch_group_t group);

DISPATCH_ASSUME_NONNULL_END

#endif
