//===- CallSites.c - the caller, for reports --------------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Programs do not export their functions, so the dynamic linker knows no
// names of them; they are looked up in the file's own table of symbols.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformCallSites.h"
#include "Uncancelled.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#else
#include <unwind.h>
#endif

// The function is the Swift runtime's, if that is in the process. Swift returns a pointer in the same place as C.
extern void *swift_task_getCurrent(void) __attribute__((weak));
extern char *swift_demangle(const char *name, size_t length, char *buffer, size_t *room, uint32_t flags)
    __attribute__((weak));

bool gc_in_task(void) { return swift_task_getCurrent != NULL && swift_task_getCurrent() != NULL; }

bool gc_is_in_own_library(uintptr_t address) {
  Dl_info own, other;
  if (!dladdr((const void *)&gc_call_sites, &own) || !dladdr((const void *)address, &other) || own.dli_fbase != other.dli_fbase) return false;
  // A program that the library is linked into begins in the same file.
  Dl_info program;
  const void *entry = (const void *)getauxval(AT_ENTRY);
  return !dladdr(entry, &program) || program.dli_fbase != own.dli_fbase;
}

#if defined(__GLIBC__)
int gc_call_sites(void **addresses, int room) { return backtrace(addresses, room); }
#else

// The compiler's library that unwinds, if that is in the process.
#pragma weak _Unwind_Backtrace
#pragma weak _Unwind_GetIP

typedef struct {
  void **addresses;
  int room, count;
} trace;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *frame, void *raw) {
  trace *found = raw;
  if (found->count == found->room) return _URC_END_OF_STACK;
  found->addresses[found->count++] = (void *)_Unwind_GetIP(frame);
  return _URC_NO_REASON;
}

int gc_call_sites(void **addresses, int room) {
  trace found = {addresses, room, 0};
  if (_Unwind_Backtrace != NULL && _Unwind_GetIP != NULL) _Unwind_Backtrace(add_frame, &found);
  return found.count;
}

#endif

static int copy_name(const char *from, size_t length, char *name, int room) {
  if (room <= 0) return 0;
  if (length >= (size_t)room) length = (size_t)room - 1;
  memcpy(name, from, length);
  name[length] = 0;
  return (int)length;
}

/// Looks in the file's table for the function that covers `offset`.
static int find_symbol(const char *file, size_t size, uintptr_t offset, char *name, int room) {
  const ElfW(Ehdr) *header = (const void *)file;
  if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  if (header->e_shoff == 0 || header->e_shoff + (size_t)header->e_shnum * sizeof(ElfW(Shdr)) > size) return 0;
  const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    const ElfW(Shdr) *table = &sections[i];
    if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum) continue;
    const ElfW(Shdr) *strings = &sections[table->sh_link];
    if (table->sh_offset + table->sh_size > size || strings->sh_offset + strings->sh_size > size) return 0;
    const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
    for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
      const ElfW(Sym) *symbol = &symbols[k];
      if ((symbol->st_info & 0xf) != STT_FUNC || symbol->st_name >= strings->sh_size) continue;
      if (offset < symbol->st_value || offset >= symbol->st_value + symbol->st_size) continue;
      const char *found = file + strings->sh_offset + symbol->st_name;
      return copy_name(found, strnlen(found, strings->sh_size - symbol->st_name), name, room);
    }
  }
  return 0;
}

/// Opens the file that code is in. Libraries are known by their paths, a program by what it was called, which need not lead to it.
static int open_file(const Dl_info *code) {
  // A pipe that has taken the place of a file keeps no thread.
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  const uintptr_t entry = getauxval(AT_ENTRY);
  Dl_info program;
  if (dladdr((const void *)entry, &program) && program.dli_fbase == code->dli_fbase) {
    int fd = raw_open("/proc/self/exe", flags);
    // Where the dynamic linker was called with the program's path, the file is the linker's.
    ElfW(Ehdr) header;
    bool is_whole = fd >= 0 && raw_pread(fd, &header, sizeof header, 0) == sizeof header;
    if (is_whole && header.e_entry + (header.e_type == ET_EXEC ? 0 : (uintptr_t)code->dli_fbase) == entry) return fd;
    if (fd >= 0) raw_close(fd);
  }
  return raw_open(code->dli_fname, flags);
}

int gc_describe_code(const void *address, char *name, int name_room, char *place, int place_room) {
  Dl_info info;
  if (name_room > 0) name[0] = 0;
  if (place_room > 0) place[0] = 0;
  if (!dladdr(address, &info) || !info.dli_fname) return 0;
  uintptr_t offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
  snprintf(place, (size_t)place_room, "%s+0x%zx", info.dli_fname, (size_t)offset);
  int length = 0;
  int fd = open_file(&info);
  struct stat status;
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) {
      // The addresses in a file of fixed position (ET_EXEC) are those in memory.
      const ElfW(Ehdr) *header = (const void *)file;
      if (header->e_type == ET_EXEC) offset = (uintptr_t)address;
      length = find_symbol(file, (size_t)status.st_size, offset, name, name_room);
      munmap(file, (size_t)status.st_size);
    }
  }
  if (fd >= 0) raw_close(fd);
  if (length == 0 && info.dli_sname) length = copy_name(info.dli_sname, strlen(info.dli_sname), name, name_room);
  return length;
}

void gc_demangle(char *name, int room) {
  if (swift_demangle == NULL || strncmp(name, "$s", 2) != 0) return;
  char *words = swift_demangle(name, strlen(name), NULL, NULL, 0);
  if (words == NULL) return;
  copy_name(words, strlen(words), name, room);
  free(words);
}
