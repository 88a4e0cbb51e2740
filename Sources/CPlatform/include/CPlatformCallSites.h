//===- CPlatformCallSites.h - the caller, for reports -----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef GC_PLATFORM_CALL_SITES_H
#define GC_PLATFORM_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

/// Whether the calling thread runs a task of Swift Concurrency, if that is in the process at all.
bool gc_in_task(void);

/// The return addresses of the calls that the thread is inside, innermost first; how many there are.
int gc_call_sites(void **addresses, int room);

/// Whether the code at an address is of a shared library that this code is a part of too.
bool gc_is_in_own_library(uintptr_t address);

/// The name of the function at a code address, with its file and the place in it: "name", NUL, "file+0x12", NUL. The
/// length of the first; 0 if it has no known name. Swift's names are mangled.
int gc_describe_code(const void *address, char *name, int name_room, char *place, int place_room);

/// Writes a Swift name as people write it; leaves it as it is if it is not one, or cannot be demangled.
void gc_demangle(char *name, int room);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
