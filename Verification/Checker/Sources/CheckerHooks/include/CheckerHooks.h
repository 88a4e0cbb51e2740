// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the checked atomics call. A module of its own: a change of it builds the library anew.
#ifndef CHECKER_HOOKS_H
#define CHECKER_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// MARK: Atomic operations. `width` in bytes: 1, 2, 4 or 8; values in the low bytes. Outside of a run they act at once.

enum { CK_RELAXED = 0, CK_ACQUIRE = 1, CK_RELEASE = 2, CK_ACQ_REL = 3, CK_SEQ_CST = 4 };
enum { CK_EXCHANGE, CK_ADD, CK_SUB, CK_AND, CK_OR, CK_XOR, CK_MIN, CK_MAX, CK_UMIN, CK_UMAX };

/// No atomic operation: the thread that calls it must come before all others that use the location.
void ck_atomic_init(void *location, int width, uint64_t value);
void ck_atomic_gone(void *location, int width);
uint64_t ck_atomic_load(const void *location, int width, int order);
void ck_atomic_store(void *location, int width, uint64_t value, int order);
/// Returns the value before.
uint64_t ck_atomic_update(void *location, int width, int operation, uint64_t operand, int order);
/// Replaces `*expected` by what was found.
bool ck_atomic_compare_exchange(void *location, int width, uint64_t *expected, uint64_t desired, int success, int failure,
                                bool weak);
void ck_atomic_fence(int order);

#ifdef __cplusplus
}
#endif
#endif
