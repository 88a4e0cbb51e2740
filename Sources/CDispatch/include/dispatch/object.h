// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What can be done with every object: count references, suspend, retarget, attach a context.

#ifndef DISPATCH_OBJECT_H
#define DISPATCH_OBJECT_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// Adds a reference. Global objects take no notice.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_retain(dispatch_object_t object);

/// Takes a reference away; with the last one the object goes, once its pending work is done. Global objects take no notice.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_release(dispatch_object_t object);

/// The pointer that `dispatch_set_context` has left; NULL if none.
DISPATCH_EXPORT DISPATCH_NOTHROW void *DISPATCH_NULLABLE dispatch_get_context(dispatch_object_t object);

/// Attaches a pointer of the program's own.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_set_context(dispatch_object_t object, void *DISPATCH_NULLABLE context);

/// Has `finalizer` called with the context on the object's target queue after the last reference has gone, if the context
/// is not NULL then.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_set_finalizer_f(dispatch_object_t object, dispatch_function_t DISPATCH_NULLABLE finalizer);

/// Lets an object that was created inactive begin. Does nothing the second time.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_activate(dispatch_object_t object);

/// Holds back items or events until `dispatch_resume`. Calls nest; what runs already finishes.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_suspend(dispatch_object_t object);

/// Takes back one `dispatch_suspend`; activates a source that is inactive.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_resume(dispatch_object_t object);

/// Makes the object's work run as items of `queue`; NULL stands for the default. For a queue the change is an item itself. Of a
/// channel the barriers run there; the handlers of its operations run on the queue that each call names. Does nothing to a global
/// queue, the main queue and a workloop.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_set_target_queue(dispatch_object_t object, dispatch_queue_t DISPATCH_NULLABLE queue);

/// Asks for a quality of service of at least `qos_class` for an inactive object.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_set_qos_class_floor(
    dispatch_object_t object, dispatch_qos_class_t qos_class, int relative_priority);

/// Writes a line about the object, and the formatted message, to standard error.
DISPATCH_EXPORT DISPATCH_NOTHROW __attribute__((__format__(__printf__, 2, 3))) void dispatch_debug(dispatch_object_t object, const char *message, ...);

/// As `dispatch_debug`, with the arguments in a list.
DISPATCH_EXPORT DISPATCH_NOTHROW __attribute__((__format__(__printf__, 2, 0))) void dispatch_debugv(dispatch_object_t object, const char *message, va_list arguments);

#if DISPATCH_BLOCKS && !defined(__cplusplus)
// One name for work items, groups and sources; the argument's type says which function is meant. As on Darwin.
#define dispatch_wait(object, timeout) \
  _Generic((object), dispatch_block_t: dispatch_block_wait, dispatch_group_t: dispatch_group_wait, \
      dispatch_semaphore_t: dispatch_semaphore_wait)((object), (timeout))
#define dispatch_notify(object, queue, block) \
  _Generic((object), dispatch_block_t: dispatch_block_notify, dispatch_group_t: dispatch_group_notify)( \
      (object), (queue), (block))
#define dispatch_cancel(object) \
  _Generic((object), dispatch_block_t: dispatch_block_cancel, dispatch_source_t: dispatch_source_cancel)((object))
#define dispatch_testcancel(object) \
  _Generic((object), dispatch_block_t: dispatch_block_testcancel, dispatch_source_t: dispatch_source_testcancel)( \
      (object))
#endif

DISPATCH_ASSUME_NONNULL_END

#endif
