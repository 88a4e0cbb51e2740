// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Instants as 64-bit values: on the clock that stands still in sleep, on the one that does not, and on the wall clock.

#ifndef DISPATCH_TIME_H
#define DISPATCH_TIME_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN

// A program may have some of its own: it keeps these, and gets the others.
#ifndef NSEC_PER_SEC
#define NSEC_PER_SEC 1000000000ull
#endif
#ifndef NSEC_PER_MSEC
#define NSEC_PER_MSEC 1000000ull
#endif
#ifndef USEC_PER_SEC
#define USEC_PER_SEC 1000000ull
#endif
#ifndef NSEC_PER_USEC
#define NSEC_PER_USEC 1000ull
#endif

/// An instant. Values of different clocks are told apart by their upper bits; compare only values of one clock.
typedef uint64_t dispatch_time_t;

/// The present, on the clock that stands still while the machine sleeps.
#define DISPATCH_TIME_NOW (0ull)
/// The instant that does not come.
#define DISPATCH_TIME_FOREVER (~0ull)
/// The present, on the wall clock.
#define DISPATCH_WALLTIME_NOW (~1ull)

/// The instant `delta` nanoseconds after `when`, on the clock of `when`. For ever stays for ever; a sum that no value can
/// express becomes for ever, or the first instant of the clock.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);

struct timespec;

/// The wall-clock instant `delta` nanoseconds after `when`; NULL stands for the present. Deadlines on this clock move when
/// the clock is set.
DISPATCH_EXPORT DISPATCH_NOTHROW dispatch_time_t dispatch_walltime(const struct timespec *DISPATCH_NULLABLE when, int64_t delta);

DISPATCH_ASSUME_NONNULL_END

#endif
