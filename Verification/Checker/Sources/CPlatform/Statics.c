// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The library's static variables, put back before each run.
///
/// They are found by name in the program's own table of symbols: what the compiler calls the storage of the library's static
/// and global variables, and the words that say whether their initialisers have run. What they hold before the
/// program begins is kept. What the Swift runtime notes about types in the program's memory stays as it is.
///
/// Initialisers run within a run, and may be preempted there like all else. The runtime would let a second thread that comes
/// by wait in the kernel, where the one kernel thread would wait for itself: so `swift_once` is defined here.

#define _GNU_SOURCE 1
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "Machine.h"

typedef struct {
  char *place;
  size_t size, kept;
} variable;

static variable *variables;
static size_t variable_count, variable_room;
static char *kept_bytes;
static size_t kept_size;

static bool ends_with(const char *name, size_t length, const char *end) {
  size_t count = strlen(end);
  return length >= count && memcmp(name + length - count, end, count) == 0;
}

/// Modules by their mangled names: the library, and the scenarios.
static bool is_restored(const char *name) {
  if (strncmp(name, "$s12GrandCentral", 16) != 0 && strncmp(name, "$s9Scenarios", 12) != 0) return false;
  size_t length = strlen(name);
  return ends_with(name, length, "vpZ") || ends_with(name, length, "vp") || ends_with(name, length, "Wz") ||
         ends_with(name, length, "vpZTq");
}

static void keep(char *place, size_t size) {
  if (variable_count == variable_room) {
    variable_room = variable_room == 0 ? 256 : 2 * variable_room;
    variables = realloc(variables, variable_room * sizeof *variables);
  }
  variables[variable_count++] = (variable){place, size, kept_size};
  kept_bytes = realloc(kept_bytes, kept_size + size);
  memcpy(kept_bytes + kept_size, place, size);
  kept_size += size;
}

static int program_offset(struct dl_phdr_info *info, size_t size, void *result) {
  (void)size;
  // The first is the program.
  *(uintptr_t *)result = info->dlpi_addr;
  return 1;
}

static void find_variables(void) {
  uintptr_t offset = 0;
  dl_iterate_phdr(program_offset, &offset);
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return;
  char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (file == MAP_FAILED) return;
  const ElfW(Ehdr) *header = (const void *)file;
  const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char *names = file + sections[sections[i].sh_link].sh_offset;
    const ElfW(Sym) *symbols = (const void *)(file + sections[i].sh_offset);
    for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
      const ElfW(Sym) *symbol = &symbols[k];
      if ((symbol->st_info & 0xf) != STT_OBJECT || symbol->st_size == 0 || symbol->st_shndx >= header->e_shnum) continue;
      if ((sections[symbol->st_shndx].sh_flags & SHF_WRITE) == 0 || !is_restored(names + symbol->st_name)) continue;
      keep((char *)(offset + symbol->st_value), symbol->st_size);
    }
  }
  munmap(file, (size_t)status.st_size);
}

static bool is_known;

static void restore(void) {
  // The parts are made before the program begins, and after the dynamic linker has written its share.
  if (!is_known) {
    is_known = true;
    find_variables();
    return;
  }
  for (size_t i = 0; i < variable_count; i++) {
    // Constants that the linker has made read-only since are the same anyway.
    if (memcmp(variables[i].place, kept_bytes + variables[i].kept, variables[i].size) != 0)
      memcpy(variables[i].place, kept_bytes + variables[i].kept, variables[i].size);
  }
}
MACHINE_PART(statics, restore)

size_t ck_machine_statics(void) { return kept_size; }

// MARK: Initialisers

// Not the runtime's -1: compiled code looks for that by itself, and the core would not see that the initialiser came before.
enum { is_running = 1, is_done = 2, is_old = 3 };

void swift_once(intptr_t *token, void (*initialise)(void *), void *context) {
  // Done before there was a second thread: the start of that thread has ordered it.
  if (*token == is_old) return;
  // Threads that come by later learn of the initialiser's work, and nothing of each other.
  if (ck_self() != 0) ck_kernel_look("once", token);
  while (*token == is_running) {
    machine_block(token, UINT64_MAX, false, "once");
    ck_kernel_look("once", token);
  }
  if (*token == is_done) return;
  *token = is_running;
  initialise(context);
  machine_sync(token);
  *token = ck_is_alone() ? is_old : is_done;
  if (ck_self() != 0) machine_wake_all(token);
}
