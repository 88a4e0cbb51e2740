// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// When the machine counts, and what it has counted.
#include <stdio.h>

#include "internal.h"

static uint64_t begun_at, ended_at;

void machine_begin(void) {
  cache_forget_counts();
  begun_at = self->clock;
  counting = true;
}

void machine_end(void) {
  counting = false;
  ended_at = self->clock;
}

static void field(const char *name, uint64_t value) { printf("\"%s\":%lu,", name, (unsigned long)value); }

void machine_report(const char *name, int64_t workers, int64_t operations) {
  printf("{\"name\":\"%s\",", name);
  field("workers", (uint64_t)workers);
  field("operations", (uint64_t)operations);
  field("nanoseconds", ended_at - begun_at);
  field("read", total.moved[access_read]);
  field("written", total.moved[access_write]);
  field("modified", total.moved[access_rmw]);
  field("falsely", total.falsely);
  field("atomics", total.atomics);
  field("counts", total.counts);
  field("fences", total.fences);
  field("wake_calls", total.wake_calls);
  field("woken", total.woken);
  field("slept", total.blocks);
  field("spawned", total.spawned);
  field("calls", total.calls);
  printf("\"sites\":");
  cache_print_sites();
  printf("}\n");
}
