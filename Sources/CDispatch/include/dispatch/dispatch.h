// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Grand Central Dispatch: work in queues, on threads that the library looks after. This header includes the others.
///
/// No function may be called by a handler of signals (`sigaction`): the handler may have interrupted the same thread within a call. Use a
/// source of `DISPATCH_SOURCE_TYPE_SIGNAL`; or write to an eventfd or a pipe, which a source of `DISPATCH_SOURCE_TYPE_READ` watches.

#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

// What libdispatch's header brings along: programs leave it out, and rely on that.
#ifndef GRANDCENTRAL_BUILDING
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>
#endif

#include <dispatch/base.h>
#include <dispatch/time.h>
#include <dispatch/object.h>
#include <dispatch/queue.h>
#include <dispatch/block.h>
#include <dispatch/source.h>
#include <dispatch/group.h>
#include <dispatch/semaphore.h>
#include <dispatch/once.h>
#include <dispatch/data.h>
#include <dispatch/io.h>
#include <dispatch/workloop.h>
#include <dispatch/pool.h>

#if DISPATCH_BLOCKS && defined(__cplusplus)
// The names that are macros in C, see object.h.
DISPATCH_ASSUME_NONNULL_BEGIN
DISPATCH_INLINE intptr_t dispatch_wait(dispatch_block_t object, dispatch_time_t timeout) { return dispatch_block_wait(object, timeout); }
DISPATCH_INLINE intptr_t dispatch_wait(dispatch_group_t object, dispatch_time_t timeout) { return dispatch_group_wait(object, timeout); }
DISPATCH_INLINE intptr_t dispatch_wait(dispatch_semaphore_t object, dispatch_time_t timeout) {
  return dispatch_semaphore_wait(object, timeout);
}
DISPATCH_INLINE void dispatch_notify(dispatch_block_t object, dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_block_notify(object, queue, block);
}
DISPATCH_INLINE void dispatch_notify(dispatch_group_t object, dispatch_queue_t queue, dispatch_block_t block) {
  dispatch_group_notify(object, queue, block);
}
DISPATCH_INLINE void dispatch_cancel(dispatch_block_t object) { dispatch_block_cancel(object); }
DISPATCH_INLINE void dispatch_cancel(dispatch_source_t object) { dispatch_source_cancel(object); }
DISPATCH_INLINE intptr_t dispatch_testcancel(dispatch_block_t object) { return dispatch_block_testcancel(object); }
DISPATCH_INLINE intptr_t dispatch_testcancel(dispatch_source_t object) { return dispatch_source_testcancel(object); }
DISPATCH_ASSUME_NONNULL_END
#endif

#endif
