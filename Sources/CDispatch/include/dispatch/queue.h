// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Queues: where work is submitted, and in which order it runs.

#ifndef DISPATCH_QUEUE_H
#define DISPATCH_QUEUE_H

#include <dispatch/base.h>
#include <dispatch/time.h>
#include <dispatch/object.h>

DISPATCH_ASSUME_NONNULL_BEGIN

DISPATCH_DECL_SUBCLASS(dispatch_queue_global, dispatch_queue);
DISPATCH_DECL_SUBCLASS(dispatch_queue_serial_executor, dispatch_queue);
DISPATCH_DECL_SUBCLASS(dispatch_queue_serial, dispatch_queue);
DISPATCH_DECL_SUBCLASS(dispatch_queue_main, dispatch_queue);
DISPATCH_DECL_SUBCLASS(dispatch_queue_concurrent, dispatch_queue);

#if DISPATCH_BLOCKS
/// Runs `work` on `queue`, and returns at once. Items start in the order in which they were submitted.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_async(dispatch_queue_t queue, dispatch_block_t work);
#endif

/// As `dispatch_async`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_async_f(dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// Runs `work` on `queue`, after all that was submitted before, and returns when it has run. Called from an item of the same
/// queue it would wait for itself, and stops the process.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t work);
#endif

/// As `dispatch_sync`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_sync_f(dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// As `dispatch_sync`, but the item may run on whichever thread is at the queue just then.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_async_and_wait(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t work);
#endif

/// As `dispatch_async_and_wait`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_async_and_wait_f(
    dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// As `dispatch_async`; on a concurrent queue of the program's own the item waits for all earlier ones, and runs alone.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t work);
#endif

/// As `dispatch_barrier_async`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_async_f(
    dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// As `dispatch_sync`, with a barrier.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_sync(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t work);
#endif

/// As `dispatch_barrier_sync`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_sync_f(
    dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// As `dispatch_async_and_wait`, with a barrier.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_async_and_wait(dispatch_queue_t queue, DISPATCH_NOESCAPE dispatch_block_t work);
#endif

/// As `dispatch_barrier_async_and_wait`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_barrier_async_and_wait_f(
    dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
/// Submits `work` to `queue` at `when`, never before; for ever never does.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t work);
#endif

/// As `dispatch_after`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_after_f(
    dispatch_time_t when, dispatch_queue_t queue, void *DISPATCH_NULLABLE context, dispatch_function_t work);

#if DISPATCH_BLOCKS
DISPATCH_BLOCK_TYPE(dispatch_apply_block_t, void, size_t);

/// Calls `work` once for each index below `iterations`, on several processors if the queue allows, and returns when all
/// calls are done. `DISPATCH_APPLY_AUTO` picks a global queue.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_apply(
    size_t iterations, dispatch_queue_t DISPATCH_NULLABLE queue, DISPATCH_NOESCAPE dispatch_apply_block_t work);
#endif

/// As `dispatch_apply`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_apply_f(
    size_t iterations, dispatch_queue_t DISPATCH_NULLABLE queue, void *DISPATCH_NULLABLE context,
    void (*work)(void *DISPATCH_NULLABLE context, size_t index));

#define DISPATCH_APPLY_AUTO ((dispatch_queue_t)0)
#define DISPATCH_APPLY_AUTO_AVAILABLE 1

/// The queue whose item runs on this thread; for logs, not for decisions.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_t dispatch_get_current_queue(void);

#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((__visibility__("default"))) struct dispatch_queue_s _dispatch_main_q;
extern __attribute__((__visibility__("default"))) struct dispatch_queue_attr_s _dispatch_queue_attr_concurrent;
#ifdef __cplusplus
}
#endif

#ifndef GRANDCENTRAL_BUILDING
/// The serial queue whose items run on the main thread, once that is in `dispatch_main` or a loop that drains the queue.
DISPATCH_INLINE dispatch_queue_main_t dispatch_get_main_queue(void) {
  return DISPATCH_GLOBAL_OBJECT(dispatch_queue_main_t, _dispatch_main_q);
}
#endif

typedef long dispatch_queue_priority_t;
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN

/// The shared concurrent queue of a quality of service, or of one of the four priorities; NULL for any other number, or if
/// `flags` is not 0.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_global_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);

#define DISPATCH_QUEUE_SERIAL NULL
#define DISPATCH_QUEUE_CONCURRENT DISPATCH_GLOBAL_OBJECT(dispatch_queue_attr_t, _dispatch_queue_attr_concurrent)
#define DISPATCH_QUEUE_SERIAL_INACTIVE dispatch_queue_attr_make_initially_inactive(DISPATCH_QUEUE_SERIAL)
#define DISPATCH_QUEUE_CONCURRENT_INACTIVE dispatch_queue_attr_make_initially_inactive(DISPATCH_QUEUE_CONCURRENT)
#define DISPATCH_QUEUE_SERIAL_WITH_AUTORELEASE_POOL \
  dispatch_queue_attr_make_with_autorelease_frequency( \
      DISPATCH_QUEUE_SERIAL, DISPATCH_AUTORELEASE_FREQUENCY_WORK_ITEM)
#define DISPATCH_QUEUE_CONCURRENT_WITH_AUTORELEASE_POOL \
  dispatch_queue_attr_make_with_autorelease_frequency( \
      DISPATCH_QUEUE_CONCURRENT, DISPATCH_AUTORELEASE_FREQUENCY_WORK_ITEM)

/// The attributes of a queue that does nothing before `dispatch_activate`.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_attr_t dispatch_queue_attr_make_initially_inactive(dispatch_queue_attr_t DISPATCH_NULLABLE attributes);

/// How often an autorelease pool is drained. Recorded; there are no such pools here.
DISPATCH_ENUM(dispatch_autorelease_frequency, unsigned long,
  DISPATCH_AUTORELEASE_FREQUENCY_INHERIT = 0,
  DISPATCH_AUTORELEASE_FREQUENCY_WORK_ITEM = 1,
  DISPATCH_AUTORELEASE_FREQUENCY_NEVER = 2
);

/// The attributes with a frequency, which is recorded, and does nothing else. The attributes as they are if it is none of the three.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_attr_t dispatch_queue_attr_make_with_autorelease_frequency(
    dispatch_queue_attr_t DISPATCH_NULLABLE attributes, dispatch_autorelease_frequency_t frequency);

/// The attributes with a quality of service; `relative_priority` from -15 to 0. The attributes as they are if either is out of range.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(
    dispatch_queue_attr_t DISPATCH_NULLABLE attributes, dispatch_qos_class_t qos_class, int relative_priority);

#define DISPATCH_TARGET_QUEUE_DEFAULT NULL

/// A queue with one reference, which the caller releases. The label is copied.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_queue_t dispatch_queue_create(
    const char *DISPATCH_NULLABLE label, dispatch_queue_attr_t DISPATCH_NULLABLE attributes);

/// As `dispatch_queue_create`, with the target: the queue that runs the items as items of its own.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_queue_t dispatch_queue_create_with_target(
    const char *DISPATCH_NULLABLE label, dispatch_queue_attr_t DISPATCH_NULLABLE attributes, dispatch_queue_t DISPATCH_NULLABLE target);

#define DISPATCH_CURRENT_QUEUE_LABEL NULL

/// The label, never NULL. Without a queue that of the current one.
DISPATCH_EXPORT DISPATCH_NOTHROW const char *dispatch_queue_get_label(dispatch_queue_t DISPATCH_NULLABLE queue);

/// The class that the queue was created with, and its relative priority if that is asked for, which does not change the order of items.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_qos_class_t dispatch_queue_get_qos_class(
    dispatch_queue_t queue, int *DISPATCH_NULLABLE relative_priority);

/// Turns the main thread into the one that runs the main queue.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_NORETURN void dispatch_main(void);

/// Attaches a value under the address `key`; NULL takes it away. The destructor gets the old value on a global queue.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_queue_set_specific(
    dispatch_queue_t queue, const void *key, void *DISPATCH_NULLABLE value, dispatch_function_t DISPATCH_NULLABLE destructor);

/// The queue's own value under `key`; NULL if none.
DISPATCH_EXPORT DISPATCH_NOTHROW void *DISPATCH_NULLABLE dispatch_queue_get_specific(dispatch_queue_t queue, const void *key);

/// The value under `key` of the current queue, or of the nearest of its targets that has one.
DISPATCH_EXPORT DISPATCH_NOTHROW void *DISPATCH_NULLABLE dispatch_get_specific(const void *key);

/// Stops the process unless this thread runs an item of `queue`, or of one that targets it.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_assert_queue(dispatch_queue_t queue);
/// As `dispatch_assert_queue`, and nothing else may run on the queue meanwhile.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_assert_queue_barrier(dispatch_queue_t queue);
/// Stops the process if this thread runs an item of `queue`, or of one that targets it.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_assert_queue_not(dispatch_queue_t queue);

#ifdef NDEBUG
#define dispatch_assert_queue_debug(queue) ((void)(0 && (queue)))
#define dispatch_assert_queue_barrier_debug(queue) ((void)(0 && (queue)))
#define dispatch_assert_queue_not_debug(queue) ((void)(0 && (queue)))
#else
#define dispatch_assert_queue_debug(queue) dispatch_assert_queue(queue)
#define dispatch_assert_queue_barrier_debug(queue) dispatch_assert_queue_barrier(queue)
#define dispatch_assert_queue_not_debug(queue) dispatch_assert_queue_not(queue)
#endif

DISPATCH_ASSUME_NONNULL_END

#endif
