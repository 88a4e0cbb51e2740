// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What all headers of `dispatch/` are written with: how functions are exported and annotated, and the root of the
/// object types. Needs no extension of the compiler; uses what there is.

#ifndef DISPATCH_BASE_H
#define DISPATCH_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <os/object.h>

/// Grows whenever something is added to the interface.
#define DISPATCH_API_VERSION 20180109

#ifdef __cplusplus
#define DISPATCH_EXTERN extern "C"
#else
#define DISPATCH_EXTERN extern
#endif
#define DISPATCH_EXPORT DISPATCH_EXTERN __attribute__((__visibility__("default")))

#define DISPATCH_NOTHROW OS_NOTHROW
#define DISPATCH_NORETURN __attribute__((__noreturn__))
#define DISPATCH_WARN_RESULT __attribute__((__warn_unused_result__))
#define DISPATCH_MALLOC __attribute__((__malloc__))
#define DISPATCH_INLINE static __inline__
#define DISPATCH_EXPECT(value, likely) __builtin_expect((value), (likely))

// What may be NULL, and what not: for compilers that know about it.
#define DISPATCH_NULLABLE OS_NULLABLE
#define DISPATCH_NONNULL OS_NONNULL
#define DISPATCH_ASSUME_NONNULL_BEGIN OS_ASSUME_NONNULL_BEGIN
#define DISPATCH_ASSUME_NONNULL_END OS_ASSUME_NONNULL_END

// A block or context that the callee is done with when it returns.
#if OS_HAS_ATTRIBUTE(__noescape__) && !defined(GRANDCENTRAL_BUILDING)
#define DISPATCH_NOESCAPE __attribute__((__noescape__))
#else
#define DISPATCH_NOESCAPE
#endif

// DISPATCH_BLOCKS: whether the compiler knows blocks, and so whether the variants that take them are declared. The
// library itself sees them as addresses.
#ifdef GRANDCENTRAL_BUILDING
#define DISPATCH_BLOCKS 1
#define DISPATCH_BLOCK_TYPE(name, result, ...) typedef void *name
#elif defined(__BLOCKS__)
#define DISPATCH_BLOCKS 1
#define DISPATCH_BLOCK_TYPE(name, result, ...) typedef result (^name)(__VA_ARGS__)
#else
#define DISPATCH_BLOCKS 0
#endif

#define DISPATCH_ENUM(name, type, ...) OS_ENUM(name, type, __VA_ARGS__)

// What programs write with, and no header here does: the names are those of libdispatch's headers.
#define DISPATCH_NONNULL1 __attribute__((__nonnull__(1)))
#define DISPATCH_NONNULL2 __attribute__((__nonnull__(2)))
#define DISPATCH_NONNULL3 __attribute__((__nonnull__(3)))
#define DISPATCH_NONNULL4 __attribute__((__nonnull__(4)))
#define DISPATCH_NONNULL5 __attribute__((__nonnull__(5)))
#define DISPATCH_NONNULL6 __attribute__((__nonnull__(6)))
#define DISPATCH_NONNULL7 __attribute__((__nonnull__(7)))
#define DISPATCH_NONNULL_ALL __attribute__((__nonnull__))
#define DISPATCH_SENTINEL __attribute__((__sentinel__))
#define DISPATCH_PURE __attribute__((__pure__))
#define DISPATCH_CONST __attribute__((__const__))
#define DISPATCH_COLD __attribute__((__cold__))
#define DISPATCH_ALWAYS_INLINE __attribute__((__always_inline__))
#define DISPATCH_RETURNS_RETAINED OS_OBJECT_RETURNS_RETAINED
#define DISPATCH_RETURNS_RETAINED_BLOCK
#define DISPATCH_COMPILER_CAN_ASSUME(condition) OS_COMPILER_CAN_ASSUME(condition)
#define dispatch_compiler_barrier() __asm__ __volatile__("" ::: "memory")

#if OS_HAS_ATTRIBUTE(__unavailable__)
#define DISPATCH_UNAVAILABLE __attribute__((__unavailable__))
#define DISPATCH_UNAVAILABLE_MSG(text) __attribute__((__unavailable__(text)))
#else
#define DISPATCH_UNAVAILABLE
#define DISPATCH_UNAVAILABLE_MSG(text)
#endif
#define DISPATCH_LINUX_UNAVAILABLE() DISPATCH_UNAVAILABLE_MSG("Linux does not have this.")
#define DISPATCH_FREEBSD_UNAVAILABLE()

#if OS_HAS_ATTRIBUTE(__fallthrough__)
#define DISPATCH_FALLTHROUGH __attribute__((__fallthrough__))
#else
#define DISPATCH_FALLTHROUGH
#endif

#if OS_HAS_ATTRIBUTE(__not_tail_called__)
#define DISPATCH_NOT_TAIL_CALLED __attribute__((__not_tail_called__))
#else
#define DISPATCH_NOT_TAIL_CALLED
#endif

#ifdef __cplusplus
#define DISPATCH_TRANSPARENT_UNION
#else
#define DISPATCH_TRANSPARENT_UNION __attribute__((__transparent_union__))
#endif

#define DISPATCH_SWIFT3_OVERLAY 0
#define DISPATCH_SWIFT3_UNAVAILABLE(text)
#define DISPATCH_SWIFT_UNAVAILABLE(text) OS_SWIFT_UNAVAILABLE(text)
#define DISPATCH_SWIFT_NAME(name) OS_SWIFT_NAME(name)
#define DISPATCH_REFINED_FOR_SWIFT OS_REFINED_FOR_SWIFT
#define DISPATCH_ENUM_API_AVAILABLE(...)
#define DISPATCH_ENUM_API_DEPRECATED(...)
#define DISPATCH_ENUM_API_DEPRECATED_WITH_REPLACEMENT(...)
#define DISPATCH_ALIAS_V2(name)

DISPATCH_ASSUME_NONNULL_BEGIN

/// A function with one argument, the context that was given along with it.
typedef void (*dispatch_function_t)(void *OS_NULLABLE);

#if DISPATCH_BLOCKS
/// A piece of work: a block without arguments and result.
#ifdef GRANDCENTRAL_BUILDING
typedef void *dispatch_block_t;
#else
typedef void (^dispatch_block_t)(void);
#endif
#endif

// Every kind of object is a pointer to a structure of its own that is private to the library. In C++ the kinds are classes
// derived from one, in C a union that any of them converts to stands for "any object".
#ifdef __cplusplus
struct dispatch_object_s {
 protected:
  dispatch_object_s() = default;
};
typedef struct dispatch_object_s *dispatch_object_t;
#define DISPATCH_DECL(name) \
  typedef struct name##_s : public dispatch_object_s { \
  } *name##_t
#else
#define DISPATCH_DECL(name) typedef struct name##_s *name##_t
// The union is an extension that GCC remarks on wherever an object is passed; an address is passed the same way.
#if defined(GRANDCENTRAL_BUILDING) || !defined(__clang__)
typedef void *dispatch_object_t;
#else
typedef union {
  struct _os_object_s *_os_obj;
  struct dispatch_object_s *_do;
  struct dispatch_queue_s *_dq;
  struct dispatch_queue_attr_s *_dqa;
  struct dispatch_group_s *_dg;
  struct dispatch_source_s *_ds;
  struct dispatch_channel_s *_dch;
  struct dispatch_mach_s *_dm;
  struct dispatch_mach_msg_s *_dmsg;
  struct dispatch_semaphore_s *_dsema;
  struct dispatch_data_s *_ddata;
  struct dispatch_io_s *_dchannel;
  struct dispatch_queue_pool_s *_dpool;
} dispatch_object_t __attribute__((__transparent_union__));
#endif
#endif

#define DISPATCH_DECL_SUBCLASS(name, base) typedef base##_t name##_t
#define DISPATCH_GLOBAL_OBJECT(type, object) ((type) & (object))

// The declarations below use pointers to all of these.
DISPATCH_DECL(dispatch_queue);
DISPATCH_DECL(dispatch_queue_attr);
DISPATCH_DECL(dispatch_group);
DISPATCH_DECL(dispatch_semaphore);
DISPATCH_DECL(dispatch_source);
DISPATCH_DECL(dispatch_data);
DISPATCH_DECL(dispatch_io);

DISPATCH_ASSUME_NONNULL_END

/// The classes of quality of service, as numbers; more urgent ones are larger.
typedef unsigned int dispatch_qos_class_t;

#ifndef QOS_CLASS_UNSPECIFIED
#define QOS_CLASS_USER_INTERACTIVE 0x21u
#define QOS_CLASS_USER_INITIATED 0x19u
#define QOS_CLASS_DEFAULT 0x15u
#define QOS_CLASS_UTILITY 0x11u
#define QOS_CLASS_BACKGROUND 0x09u
#define QOS_CLASS_UNSPECIFIED 0x00u
/// The lowest relative priority; the highest is 0. It is recorded, and does not change the order of items.
#define QOS_MIN_RELATIVE_PRIORITY (-15)
#endif

#endif
