// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Pools of serial queues, an addition of this library: a few queues that share the work of many users.

#ifndef DISPATCH_POOL_H
#define DISPATCH_POOL_H

#include <dispatch/base.h>
#include <dispatch/queue.h>

DISPATCH_ASSUME_NONNULL_BEGIN

DISPATCH_DECL(dispatch_queue_pool);

/// A pool with one reference and `queue_count` serial queues, 1 to 32, labelled with `name`. Its queues are never freed;
/// they serve the next pool of that name and quality of service, but for those that are suspended, or have a value, a context or a target
/// that was set: take these back before the pool goes. It has a context and a finalizer as other objects have; suspending it, or
/// giving it a target, holds back or moves none of its queues.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_queue_pool_t dispatch_queue_pool_create(
    const char *DISPATCH_NULLABLE name, size_t queue_count, dispatch_qos_class_t qos_class);

/// The pool that the process shares for a quality of service, with as many queues as processors. Need not be released.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_pool_t dispatch_queue_pool_get_default(dispatch_qos_class_t qos_class);

/// The next queue in turn. Need not be retained.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_t dispatch_queue_pool_get_queue(dispatch_queue_pool_t pool);

/// The queue with the least work pending.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_t dispatch_queue_pool_get_least_loaded(dispatch_queue_pool_t pool);

/// The queue of a key: keys with the same bytes share one.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_t dispatch_queue_pool_get_queue_for_key(
    dispatch_queue_pool_t pool, const void *key, size_t size);

/// How many queues the pool has.
DISPATCH_EXPORT DISPATCH_NOTHROW size_t dispatch_queue_pool_get_queue_count(dispatch_queue_pool_t pool);

/// Items that are pending on a queue of the pool, and items that it has finished; false if there is no such queue.
DISPATCH_EXPORT DISPATCH_NOTHROW bool dispatch_queue_pool_get_statistics(
    dispatch_queue_pool_t pool, size_t index, size_t *depth, uint64_t *completed);

/// The next queue of the default pool of an `NSQualityOfService`.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_t dispatch_queue_pool_get_queue_for_qos(intptr_t quality_of_service);

DISPATCH_ASSUME_NONNULL_END

#endif
