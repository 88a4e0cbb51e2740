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
#define DISPATCH_EXPORT extern "C" __attribute__((__visibility__("default")))
#else
#define DISPATCH_EXPORT extern __attribute__((__visibility__("default")))
#endif

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

// An enumeration of a given integer type, which C can say since C23 only. There it is the integer itself.
#ifdef __cplusplus
#define DISPATCH_ENUM(name, type, ...) typedef enum : type { __VA_ARGS__ } name##_t
#else
#define DISPATCH_ENUM(name, type, ...) \
  enum { __VA_ARGS__ }; \
  typedef type name##_t
#endif

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
/// The lowest relative priority within a class; the highest is 0.
#define QOS_MIN_RELATIVE_PRIORITY (-15)
#endif

#endif
