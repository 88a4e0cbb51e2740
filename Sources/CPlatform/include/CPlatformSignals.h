//===- CPlatformSignals.h - signals that are watched ------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// One handler counts the deliveries of every watched signal, then calls the
// handler that the program has for it. Masks have bit n - 1 for signal n.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_SIGNALS_H
#define GC_CPLATFORM_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

// Whether functions of the C library are defined here. Sanitizers have their own, and go without ours.
#if defined(__GLIBC__)
#define GC_INTERPOSES 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef GC_INTERPOSES
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Whether `number` is a signal that a program may handle without having caused it.
bool gc_signal_can_be_watched(int number);
/// Begins to count. 0 or -errno.
int gc_signal_watch(int number);
/// Ends it: installs the program's disposition again, unless another handler than the counter stands there.
void gc_signal_unwatch(int number);
/// Deliveries since the last call.
uint32_t gc_signal_take(int number);

/// The event descriptor to write to when something was counted; one write until `gc_signals_acknowledge`.
void gc_signals_set_descriptor(int fd);

/// Takes back a descriptor that `gc_signals_set_descriptor` was given: when
/// this returns no handler writes to it, or is about to.
void gc_signals_give_up_descriptor(int fd);
/// The counts are about to be taken: later deliveries write again.
void gc_signals_acknowledge(void);
/// Whether changes of a watched signal's disposition go through this library. If not, `gc_signals_reassert` helps.
bool gc_signals_are_interposed(void);
/// Finds the signals whose handler the program has replaced behind our back, and puts the counter before it again.
void gc_signals_reassert(void);

/// The mask for a wait that is to let watched signals in; false when none is watched.
bool gc_signals_wait_mask(uint64_t *mask);
/// What pool threads block: all but what a thread causes itself (but for SIGXFSZ), and what the program blocked when the first one was started.
uint64_t gc_signals_pool_mask(void);
/// What a child inherits of `mask`, the calling thread's: all but what the thread blocks because pool threads do.
uint64_t gc_signals_child_mask(uint64_t mask);
/// The same, in a child that is a copy of the thread: it may put back what the thread was told of its mask.
uint64_t gc_signals_mask_after_fork(uint64_t mask);
/// The signals that the C library keeps for itself.
uint64_t gc_signals_reserved(void);
/// Replaces the calling thread's mask; returns the former one.
uint64_t gc_signals_set_mask(uint64_t mask);

/// Around a fork. The child watches nothing: the program's dispositions are in place again.
void gc_signals_lock_for_fork(void);
void gc_signals_unlock_after_fork(bool in_child);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
