// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Counting semaphores.

#ifndef DISPATCH_SEMAPHORE_H
#define DISPATCH_SEMAPHORE_H

#include <dispatch/base.h>
#include <dispatch/time.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// A semaphore with one reference and `value` permits; NULL if that is negative. When it goes its value must not be below
/// the one it began with.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);

/// Takes a permit, after waiting for one if there is none: 0, or another number if `timeout` comes first.
DISPATCH_EXPORT DISPATCH_NOTHROW intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);

/// Gives a permit. Other than 0 if that has woken a thread.
DISPATCH_EXPORT DISPATCH_NOTHROW intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);

DISPATCH_ASSUME_NONNULL_END

#endif
