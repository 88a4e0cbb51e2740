// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Immutable bytes in any number of pieces.

#ifndef DISPATCH_DATA_H
#define DISPATCH_DATA_H

#include <dispatch/base.h>

DISPATCH_ASSUME_NONNULL_BEGIN

#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((__visibility__("default"))) struct dispatch_data_s _dispatch_data_empty;
#ifdef __cplusplus
}
#endif

/// The one empty object.
#define dispatch_data_empty DISPATCH_GLOBAL_OBJECT(dispatch_data_t, _dispatch_data_empty)

#if DISPATCH_BLOCKS
/// Copies the buffer.
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT NULL
/// Gives the buffer to `free` when it is no longer needed.
#define DISPATCH_DATA_DESTRUCTOR_FREE (_dispatch_data_destructor_free)
/// Gives the buffer to `munmap` when it is no longer needed.
#define DISPATCH_DATA_DESTRUCTOR_MUNMAP (_dispatch_data_destructor_munmap)
DISPATCH_EXPORT const dispatch_block_t _dispatch_data_destructor_free;
DISPATCH_EXPORT const dispatch_block_t _dispatch_data_destructor_munmap;

/// The bytes of a buffer. With a destructor of the program's own, that runs on `queue` when the buffer is no longer needed.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_data_t dispatch_data_create(
    const void *buffer, size_t size, dispatch_queue_t DISPATCH_NULLABLE queue, dispatch_block_t DISPATCH_NULLABLE destructor);
#endif

/// The number of bytes.
DISPATCH_EXPORT DISPATCH_NOTHROW size_t dispatch_data_get_size(dispatch_data_t data);

/// The same bytes in one piece, and where they are, which holds as long as the returned object lives.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_data_t dispatch_data_create_map(
    dispatch_data_t data, const void *DISPATCH_NULLABLE *DISPATCH_NULLABLE buffer, size_t *DISPATCH_NULLABLE size);

/// The bytes of one object followed by those of another. Nothing is copied.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_data_t dispatch_data_create_concat(dispatch_data_t first, dispatch_data_t second);

/// A range of an object's bytes, as far as there are any. Nothing is copied.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_data_t dispatch_data_create_subrange(
    dispatch_data_t data, size_t offset, size_t length);

#if DISPATCH_BLOCKS
/// What looks at a piece; false ends the walk.
DISPATCH_BLOCK_TYPE(dispatch_data_applier_t, bool, dispatch_data_t region, size_t offset, const void *buffer, size_t size);

/// Calls `applier` for each piece in order. True if it got to the end.
DISPATCH_EXPORT DISPATCH_NOTHROW bool dispatch_data_apply(dispatch_data_t data, DISPATCH_NOESCAPE dispatch_data_applier_t applier);
#endif

/// As `dispatch_data_apply`, with a function and its context.
DISPATCH_EXPORT DISPATCH_NOTHROW bool dispatch_data_apply_f(
    dispatch_data_t data, void *DISPATCH_NULLABLE context,
    bool (*applier)(void *DISPATCH_NULLABLE context, dispatch_data_t region, size_t offset, const void *buffer, size_t size));

/// The piece with the byte at `location`, and where that piece begins.
DISPATCH_EXPORT DISPATCH_NOTHROW DISPATCH_WARN_RESULT dispatch_data_t dispatch_data_copy_region(
    dispatch_data_t data, size_t location, size_t *offset);

DISPATCH_ASSUME_NONNULL_END

#endif
