//===- SwiftLocks.c - the Swift runtime's locks in a child ------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// The runtime's locks, those of static values among them, are words with the
// id of the thread that has one. Each thread asks the kernel for its id once,
// and remembers it. The thread that forks has another id in the child: with
// the old one in the word the kernel makes others wait for a thread of the
// parent's, and refuses to wake them. The runtime asks again for ever, and
// the child hangs the first time that two threads want the same static value.
// There is no call by which the runtime would look again.
//
// So what each library of the toolchain remembers of the forking thread is
// looked for before the copy: the one word of its thread-local values that
// has the id, with nothing in the other half of its eight bytes, which a
// pointer would have. Only these libraries are searched: elsewhere such a
// word may be what tells a program that it has been forked. A library that
// comes to remember the id in another way is left as it is.
//
// The search asks the dynamic linker, which has a lock, so it comes before
// the copy. It comes last there: what the library does before may be the first
// for which the thread asks the kernel for its id. No thread that has the
// dynamic linker's lock waits for one of the library's.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformSwiftLocks.h"

#include "CPlatform.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_of_toolchain(const char *path) {
  const char *slash = path == NULL ? NULL : strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  return name != NULL && (strncmp(name, "libswift", 8) == 0 || strncmp(name, "libFoundation", 13) == 0);
}

/// Where the one word is; NULL if there is none, or more than one.
static uint32_t *find(uint32_t *words, size_t count, uint32_t id) {
  uint32_t *found = NULL;
  for (size_t index = 0; index < count; index++) {
    size_t other = index ^ 1;
    if (words[index] != id || (other < count && words[other] != 0)) continue;
    if (found != NULL) return NULL;
    found = words + index;
  }
  return found;
}

static int look(struct dl_phdr_info *object, size_t size, void *raw) {
  gc_swift_thread_ids *ids = raw;
  if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof object->dlpi_tls_data) return 1;
  // Without thread-local values of this thread's there is nothing that could be remembered.
  if (object->dlpi_tls_data == NULL || !is_of_toolchain(object->dlpi_name)) return 0;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = object->dlpi_phdr + index;
    if (part->p_type != PT_TLS || part->p_align < sizeof(uint32_t)) continue;
    uint32_t *word = find(object->dlpi_tls_data, part->p_memsz / sizeof(uint32_t), ids->thread);
    if (word != NULL) ids->words[ids->count++] = word;
  }
  return ids->count == GC_SWIFT_LIBRARIES;
}

void gc_find_swift_thread_ids(gc_swift_thread_ids *ids) {
  *ids = (gc_swift_thread_ids){.thread = (uint32_t)syscall(SYS_gettid)};
  dl_iterate_phdr(look, ids);
}

void gc_renew_swift_thread_ids(const gc_swift_thread_ids *ids) {
  uint32_t thread = (uint32_t)syscall(SYS_gettid);
  for (uint32_t index = 0; index < ids->count; index++) *ids->words[index] = thread;
}
