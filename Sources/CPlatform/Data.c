//===- Data.c - memory that a program gave away -----------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "CPlatformData.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int gc_unmap_pages(const void *memory, size_t size) {
  size_t before = (uintptr_t)memory & ((size_t)sysconf(_SC_PAGESIZE) - 1);
  return munmap((char *)memory - before, size + before) == 0 ? 0 : -errno;
}
