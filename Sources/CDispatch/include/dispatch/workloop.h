// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Workloops: serial queues that take the most urgent item first.

#ifndef DISPATCH_WORKLOOP_H
#define DISPATCH_WORKLOOP_H

#include <dispatch/base.h>
#include <dispatch/queue.h>

DISPATCH_ASSUME_NONNULL_BEGIN

DISPATCH_DECL_SUBCLASS(dispatch_workloop, dispatch_queue);

/// An active workloop with one reference.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_workloop_t dispatch_workloop_create(const char *DISPATCH_NULLABLE label);

/// As `dispatch_workloop_create`, but it does nothing before `dispatch_activate`.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_workloop_t dispatch_workloop_create_inactive(const char *DISPATCH_NULLABLE label);

/// Recorded for an inactive workloop; there are no autorelease pools here.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_workloop_set_autorelease_frequency(
    dispatch_workloop_t workloop, dispatch_autorelease_frequency_t frequency);

DISPATCH_ASSUME_NONNULL_END

#endif
