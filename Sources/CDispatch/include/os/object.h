// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What is common to counted objects, and what compilers can be told about declarations.

#ifndef OS_OBJECT_H
#define OS_OBJECT_H

#ifdef __has_attribute
#define OS_HAS_ATTRIBUTE(name) __has_attribute(name)
#else
#define OS_HAS_ATTRIBUTE(name) 0
#endif

#ifdef __has_builtin
#define OS_HAS_BUILTIN(name) __has_builtin(name)
#else
#define OS_HAS_BUILTIN(name) 0
#endif

#ifdef __has_feature
#define OS_HAS_FEATURE(name) __has_feature(name)
#else
#define OS_HAS_FEATURE(name) 0
#endif

#define OS_NOTHROW __attribute__((__nothrow__))

/// There is no Objective-C here: objects are counted by calls.
#define OS_OBJECT_USE_OBJC 0
#define OS_OBJECT_HAVE_OBJC_SUPPORT 0
#define OS_OBJECT_USE_OBJC_RETAIN_RELEASE 0
#define OS_OBJECT_SWIFT3 0
#define OS_OBJECT_BRIDGE
#define OS_OBJECT_CONSUMED
#define OS_OBJECT_OBJC_RUNTIME_VISIBLE
#define OS_OBJECT_RETURNS_RETAINED
#define OS_OBJECT_DECL_CLASS(name) typedef struct name##_s *name##_t
#define OS_OBJECT_GLOBAL_OBJECT(type, object) ((type) & (object))

// The library itself expects NULL anywhere, and answers with a message.
#if OS_HAS_FEATURE(nullability) && !defined(GRANDCENTRAL_BUILDING)
#define OS_NULLABLE _Nullable
#define OS_NONNULL _Nonnull
#define OS_ASSUME_NONNULL_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") \
      _Pragma("clang assume_nonnull begin")
#define OS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end") _Pragma("clang diagnostic pop")
#else
#define OS_NULLABLE
#define OS_NONNULL
#define OS_ASSUME_NONNULL_BEGIN
#define OS_ASSUME_NONNULL_END
#endif

// An enumeration of a given integer type, which C can say since C23 only. There it is the integer itself.
#ifdef __cplusplus
#define OS_ENUM(name, type, ...) typedef enum : type { __VA_ARGS__ } name##_t
#else
#define OS_ENUM(name, type, ...) \
  enum { __VA_ARGS__ }; \
  typedef type name##_t
#endif

// What programs write with, and no header here does: the names are those of libdispatch's headers.
#define OS_EXPORT
#define OS_WARN_RESULT
#define OS_WARN_RESULT_NEEDS_RELEASE
#define OS_UNUSED __attribute__((__unused__))
#define OS_EXPECT(value, likely) __builtin_expect((value), (likely))
#ifndef os_likely
#define os_likely(condition) OS_EXPECT(!!(condition), 1)
#endif
#ifndef os_unlikely
#define os_unlikely(condition) OS_EXPECT(!!(condition), 0)
#endif
#define OS_STRINGIFY_TEXT(text) #text
#define OS_STRINGIFY(text) OS_STRINGIFY_TEXT(text)
#define OS_CONCAT_TEXT(first, second) first##second
#define OS_CONCAT(first, second) OS_CONCAT_TEXT(first, second)

#if OS_HAS_BUILTIN(__builtin_assume)
#define OS_COMPILER_CAN_ASSUME(condition) __builtin_assume(condition)
#else
#define OS_COMPILER_CAN_ASSUME(condition) ((void)(condition))
#endif

#if OS_HAS_FEATURE(attribute_availability_swift)
#define OS_SWIFT_UNAVAILABLE(text) __attribute__((__availability__(swift, unavailable, message = text)))
#else
#define OS_SWIFT_UNAVAILABLE(text)
#endif

#if OS_HAS_ATTRIBUTE(__swift_private__)
#define OS_REFINED_FOR_SWIFT __attribute__((__swift_private__))
#else
#define OS_REFINED_FOR_SWIFT
#endif

#if OS_HAS_ATTRIBUTE(__swift_name__)
#define OS_SWIFT_NAME(name) __attribute__((__swift_name__(#name)))
#else
#define OS_SWIFT_NAME(name)
#endif

// Which systems of Apple's have a declaration, or have it no more, says nothing here.
#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_UNAVAILABLE
#define API_UNAVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#ifndef API_DEPRECATED_WITH_REPLACEMENT
#define API_DEPRECATED_WITH_REPLACEMENT(...)
#endif

#endif
