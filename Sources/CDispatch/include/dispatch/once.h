// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Something that happens once in the life of the process.

#ifndef DISPATCH_ONCE_H
#define DISPATCH_ONCE_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN

/// What tells whether it has happened: a variable of static storage, 0 in the beginning.
typedef intptr_t dispatch_once_t;

#define DISPATCH_ONCE_INLINE_FASTPATH 1

#if DISPATCH_BLOCKS
/// Runs `block` the first time it is called with `predicate`; a thread that calls meanwhile waits until the block has run.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_once(dispatch_once_t *predicate, DISPATCH_NOESCAPE dispatch_block_t block);
#endif

/// As `dispatch_once`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW void dispatch_once_f(
    dispatch_once_t *predicate, void *DISPATCH_NULLABLE context, dispatch_function_t function);

#ifndef GRANDCENTRAL_BUILDING
#if DISPATCH_BLOCKS
/// What programs call as `dispatch_once`: once the block has run, a call is a load and a comparison.
DISPATCH_INLINE void _dispatch_once(dispatch_once_t *predicate, DISPATCH_NOESCAPE dispatch_block_t block) {
  if (DISPATCH_EXPECT(__atomic_load_n(predicate, __ATOMIC_ACQUIRE), ~(dispatch_once_t)0) != ~(dispatch_once_t)0) {
    dispatch_once(predicate, block);
  }
}
#undef dispatch_once
#define dispatch_once _dispatch_once
#endif

/// The same for `dispatch_once_f`.
DISPATCH_INLINE void _dispatch_once_f(
    dispatch_once_t *predicate, void *DISPATCH_NULLABLE context, dispatch_function_t function) {
  if (DISPATCH_EXPECT(__atomic_load_n(predicate, __ATOMIC_ACQUIRE), ~(dispatch_once_t)0) != ~(dispatch_once_t)0) {
    dispatch_once_f(predicate, context, function);
  }
}
#undef dispatch_once_f
#define dispatch_once_f _dispatch_once_f
#endif

DISPATCH_ASSUME_NONNULL_END

#endif
