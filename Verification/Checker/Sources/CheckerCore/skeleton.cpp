// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#include "CheckerCore.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
extern "C" {
void ck_point(const char *, const void *) {}
void ck_pause(void) {}
void ck_barrier_all(void) {}
uint32_t ck_choose(uint32_t, const char *) { return 0; }
ck_thread ck_self(void) { return 0; }
ck_thread ck_spawn(void (*)(void *), void *) { return 0; }
void ck_set_name(const char *) {}
int ck_block(uintptr_t, uint64_t, bool, const char *) { return 0; }
int ck_wake(uintptr_t, int) { return 0; }
int ck_blocked(uintptr_t) { return 0; }
uint32_t ck_newest32(const void *word) { return *(const uint32_t *)word; }
uint64_t ck_uptime(void) { return 1; }
uint64_t ck_at(uint64_t, void (*)(void *), void *) { return 0; }
void ck_cancel_event(uint64_t) {}
void ck_set_resting(bool) {}
void ck_memory_made(void *, size_t) {}
void ck_memory_gone(void *, size_t) {}
void ck_plain_read(const void *, size_t) {}
void ck_plain_write(void *, size_t) {}
void ck_fail(const char *line) { fprintf(stderr, "%s\n", line); abort(); }
void ck_on_reset(void (*)(void)) {}
void ck_atomic_init(void *l, int w, uint64_t v) { memcpy(l, &v, w); }
void ck_atomic_gone(void *, int) {}
uint64_t ck_atomic_load(const void *l, int w, int) { uint64_t v = 0; memcpy(&v, l, w); return v; }
void ck_atomic_store(void *l, int w, uint64_t v, int) { memcpy(l, &v, w); }
uint64_t ck_atomic_update(void *l, int w, int, uint64_t v, int) { uint64_t o = ck_atomic_load(l, w, 0); memcpy(l, &v, w); return o; }
bool ck_atomic_compare_exchange(void *l, int w, uint64_t *e, uint64_t d, int, int, bool) {
  uint64_t o = ck_atomic_load(l, w, 0);
  if (!memcmp(&o, e, w)) { memcpy(l, &d, w); return true; }
  *e = o; return false;
}
void ck_atomic_fence(int) {}
}
