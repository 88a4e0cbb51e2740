// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The static objects of the interface. Their addresses are the handles; programs may copy them at load, so that nothing
// here points into itself, and nothing changes.

#include "CDispatchGlue.h"

// An object begins with its type and its count: this count is left alone by retain and release, and so is 0, which is
// what an attribute's handle finds, as it points into the middle of nothing.
#define IMMORTAL UINTPTR_MAX

#define OBJECT(name, size) \
  struct name { \
    uintptr_t type, count, rest[(size) / sizeof(uintptr_t) - 2]; \
  }

OBJECT(dispatch_queue_s, GCD_MAIN_QUEUE_SIZE);
OBJECT(dispatch_queue_attr_s, GCD_ATTRIBUTES_SIZE);
OBJECT(dispatch_data_s, GCD_EMPTY_DATA_SIZE);

// Where tools that look into queues, ThreadSanitizer among them, find what they look for. These are offsets into the object
// behind `DispatchQueue`, and that of the target into a source's as well; a program of the tests holds them to it.
enum { TARGET_OFFSET = 32, WIDTH_OFFSET = 46 };

extern const uint16_t dispatch_queue_offsets[17];
const uint16_t dispatch_queue_offsets[17] = {
    6,                      // version
    0, 0, 0, 0, 0, 0,       // label, flags, serial number: not told
    WIDTH_OFFSET, 2,        // width
    0, 0, 0, 0,             // items running, suspensions: not told
    TARGET_OFFSET, 8, 0, 0  // target, priority: not told
};

struct dispatch_queue_s _dispatch_main_q = {0, IMMORTAL, {[(WIDTH_OFFSET - 16) / 8] = (uintptr_t)1 << WIDTH_OFFSET % 8 * 8}};
struct dispatch_queue_attr_s _dispatch_queue_attr_concurrent;
struct dispatch_data_s _dispatch_data_empty = {0, IMMORTAL, {0}};

struct dispatch_source_type_s {
  uintptr_t kind, rest[GCD_SOURCE_TYPE_SIZE / sizeof(uintptr_t) - 1];
};

#define SOURCE_TYPE(name, kind) const struct dispatch_source_type_s _dispatch_source_type_##name = {kind, {0}}

SOURCE_TYPE(data_add, GCD_SOURCE_DATA_ADD);
SOURCE_TYPE(data_or, GCD_SOURCE_DATA_OR);
SOURCE_TYPE(data_replace, GCD_SOURCE_DATA_REPLACE);
SOURCE_TYPE(timer, GCD_SOURCE_TIMER);
SOURCE_TYPE(read, GCD_SOURCE_READ);
SOURCE_TYPE(write, GCD_SOURCE_WRITE);
SOURCE_TYPE(signal, GCD_SOURCE_SIGNAL);
SOURCE_TYPE(proc, GCD_SOURCE_PROC);
SOURCE_TYPE(vnode, GCD_SOURCE_VNODE);
SOURCE_TYPE(memorypressure, GCD_SOURCE_MEMORYPRESSURE);
SOURCE_TYPE(mach_send, GCD_SOURCE_MACH_SEND);
SOURCE_TYPE(mach_recv, GCD_SOURCE_MACH_RECV);
// By a name of old that no header declares; no source is made of it.
SOURCE_TYPE(interval, 0);

// The formats of data, which no header declares on Linux.
struct dispatch_data_format_type_s {
  uintptr_t kind, rest[4];
};

#define FORMAT(name, kind) \
  extern const struct dispatch_data_format_type_s _dispatch_data_format_type_##name; \
  const struct dispatch_data_format_type_s _dispatch_data_format_type_##name = {kind, {0}}

FORMAT(none, GCD_FORMAT_NONE);
FORMAT(base32, GCD_FORMAT_BASE32);
FORMAT(base32hex, GCD_FORMAT_BASE32HEX);
FORMAT(base64, GCD_FORMAT_BASE64);
FORMAT(utf8, GCD_FORMAT_UTF8);
FORMAT(utf16le, GCD_FORMAT_UTF16LE);
FORMAT(utf16be, GCD_FORMAT_UTF16BE);
FORMAT(utf_any, GCD_FORMAT_UTF_ANY);

// Called around items by libraries with pools of objects, if set; nothing sets them here.
extern void *(*_dispatch_begin_NSAutoReleasePool)(void);
extern void (*_dispatch_end_NSAutoReleasePool)(void *);
void *(*_dispatch_begin_NSAutoReleasePool)(void);
void (*_dispatch_end_NSAutoReleasePool)(void *);
