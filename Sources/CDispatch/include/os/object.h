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

#ifdef __has_feature
#define OS_HAS_FEATURE(name) __has_feature(name)
#else
#define OS_HAS_FEATURE(name) 0
#endif

#define OS_NOTHROW __attribute__((__nothrow__))

/// There is no Objective-C here: objects are counted by calls.
#define OS_OBJECT_USE_OBJC 0
#define OS_OBJECT_HAVE_OBJC_SUPPORT 0

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

#endif
