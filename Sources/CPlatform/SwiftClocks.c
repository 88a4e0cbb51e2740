//===- SwiftClocks.c - Swift's clocks in a simulation -----------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// `Task.sleep(for:)` reads ContinuousClock and adds the duration, before it
// hands the instant to an executor: the executor alone cannot know when the
// sleep began. The runtime has hooks for much, and none for its clocks. Its
// library calls clock_gettime through a word that the dynamic linker fills;
// this function puts another function there. No other library is changed, and
// on threads that take no part the other function calls the kernel's clock.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformSwiftClocks.h"

#include "CPlatform.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define GC_JUMP_SLOT R_X86_64_JUMP_SLOT
#define GC_GLOBAL_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define GC_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GC_GLOBAL_DATA R_AARCH64_GLOB_DAT
#endif

#ifdef GC_JUMP_SLOT
typedef int (*clock_function)(clockid_t, struct timespec *);

static uint64_t (*simulated_now)(void);

static int read_clock(clockid_t clock, struct timespec *time) {
  bool passes = clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
  if (!passes || gc_thread_self()->simulated == NULL) return clock_gettime(clock, time);
  uint64_t now = simulated_now();
  time->tv_sec = (time_t)(now / 1000000000u);
  time->tv_nsec = (long)(now % 1000000000u);
  return 0;
}

typedef struct {
  uintptr_t address;  ///< Inside of the library that is looked for.
  int changed;
} search;

static bool contains(const struct dl_phdr_info *object, uint32_t type, uintptr_t address) {
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = object->dlpi_phdr + index;
    uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == type && address >= start && address - start < part->p_memsz) return true;
  }
  return false;
}

static bool put(const struct dl_phdr_info *object, clock_function *slot) {
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & ~(size - 1);
  // The dynamic linker has made the whole pages of this part read-only, if the library asks for that.
  bool is_protected =
      contains(object, PT_GNU_RELRO, (uintptr_t)slot) && contains(object, PT_GNU_RELRO, page + size - 1);
  if (is_protected && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, read_clock, __ATOMIC_RELEASE);
  if (is_protected) mprotect((void *)page, size, PROT_READ);
  return true;
}

/// Addresses in the table are those of the process with glibc, and those of the file with musl.
static uintptr_t placed(const struct dl_phdr_info *object, uintptr_t address) {
  return address < object->dlpi_addr ? object->dlpi_addr + address : address;
}

static int change(const struct dl_phdr_info *object, const ElfW(Dyn) *entry) {
  uintptr_t tables[2] = {0, 0}, sizes[2] = {0, 0}, symbols = 0, names = 0;
  for (; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
      case DT_JMPREL: tables[0] = placed(object, entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: sizes[0] = entry->d_un.d_val; break;
      case DT_RELA: tables[1] = placed(object, entry->d_un.d_ptr); break;
      case DT_RELASZ: sizes[1] = entry->d_un.d_val; break;
      case DT_SYMTAB: symbols = placed(object, entry->d_un.d_ptr); break;
      case DT_STRTAB: names = placed(object, entry->d_un.d_ptr); break;
      default: break;
    }
  }
  if (symbols == 0 || names == 0) return 0;
  int changed = 0;
  for (int index = 0; index < 2; index++) {
    const ElfW(Rela) *relocation = (const ElfW(Rela) *)tables[index];
    for (uintptr_t left = tables[index] == 0 ? 0 : sizes[index] / sizeof *relocation; left > 0; left--, relocation++) {
      uint32_t type = ELF64_R_TYPE(relocation->r_info);
      if (type != GC_JUMP_SLOT && type != GC_GLOBAL_DATA) continue;
      const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + ELF64_R_SYM(relocation->r_info);
      if (strcmp((const char *)names + symbol->st_name, "clock_gettime") != 0) continue;
      if (put(object, (clock_function *)(object->dlpi_addr + relocation->r_offset))) changed++;
    }
  }
  return changed;
}

static int look(struct dl_phdr_info *object, size_t size, void *raw) {
  (void)size;
  search *wanted = raw;
  if (!contains(object, PT_LOAD, wanted->address)) return 0;
  // What this function belongs to reads the kernel's clocks itself: a program that everything is linked into.
  if (contains(object, PT_LOAD, (uintptr_t)&gc_simulate_swift_clocks)) return 1;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = object->dlpi_phdr + index;
    if (part->p_type == PT_DYNAMIC) {
      wanted->changed = change(object, (const ElfW(Dyn) *)(object->dlpi_addr + part->p_vaddr));
    }
  }
  return 1;
}

bool gc_simulate_swift_clocks(uint64_t (*now)(void)) {
  search wanted = {.address = (uintptr_t)dlsym(RTLD_DEFAULT, "swift_get_time")};
  if (wanted.address == 0) return false;
  simulated_now = now;
  dl_iterate_phdr(look, &wanted);
  return wanted.changed > 0;
}
#else
bool gc_simulate_swift_clocks(uint64_t (*now)(void)) {
  (void)now;
  return false;
}
#endif
