// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Settings, the parts' way back to the beginning, points.

#include "Machine.h"

machine_settings settings;

enum { most_parts = 32 };
static void (*parts[most_parts])(void);
static int part_count;

static void reset_all(void) {
  for (int i = 0; i < part_count; i++) parts[i]();
}

static void reset_settings(void) {
  settings = (machine_settings){.allowed = 0, .processors = 2, .descriptor_limit = 256, .thread_limit = 64};
}

void machine_add_part(void (*reset)(void)) {
  if (part_count == 0) {
    parts[part_count++] = reset_settings;
    reset_settings();
    ck_on_reset(reset_all);
  }
  if (part_count == most_parts) __builtin_trap();
  parts[part_count++] = reset;
  reset();
}

MACHINE_PART(settings, reset_settings)

void ck_machine_allow(uint32_t kinds) { settings.allowed |= kinds; }
void ck_machine_forbid(uint32_t kinds) { settings.allowed &= ~kinds; }
void ck_machine_set_processors(int count) { settings.processors = count; }
void ck_machine_limit_descriptors(int limit) { settings.descriptor_limit = limit; }
void ck_machine_limit_threads(int limit) { settings.thread_limit = limit; }

bool machine_refuses(uint32_t kind, const char *what) {
  return (settings.allowed & kind) != 0 && ck_self() != 0 && ck_choose(2, what) != 0;
}

// MARK: Points

void machine_point(const char *what, const void *address) {
  if (ck_self() != 0) ck_point(what, address);
}

void machine_sync(const void *object) {
  if (ck_self() != 0) ck_kernel_sync(object);
}

void gc_pause(void) {
  if (ck_self() != 0) ck_pause();
}

// MARK: The kernel's barrier

static bool has_barrier;
static void reset_barrier(void) { has_barrier = false; }
MACHINE_PART(barrier, reset_barrier)

// The threads of a scenario are there from its beginning.
bool gc_is_only_thread(void) { return false; }

int gc_membarrier_register(void) {
  machine_point("membarrier-register", NULL);
  if (machine_refuses(CK_MACHINE_BARRIER, "no membarrier")) return -ENOSYS;
  has_barrier = true;
  return 0;
}

bool gc_membarrier_is_offered(void) { return true; }

int gc_membarrier(void) {
  machine_point("membarrier", NULL);
  if (!has_barrier) return -EPERM;
  if (ck_self() != 0) ck_barrier_all();
  return 0;
}

// MARK: The environment

enum { most_variables = 16 };
static struct {
  const char *name, *value;
} environment[most_variables];
static int variable_count;
static void reset_environment(void) { variable_count = 0; }
MACHINE_PART(environment, reset_environment)

void ck_machine_set_environment(const char *name, const char *value) {
  if (variable_count == most_variables) ck_fail("the made-up environment is full");
  environment[variable_count].name = name;
  environment[variable_count++].value = value;
}

const char *gc_getenv(const char *name) {
  for (int i = variable_count - 1; i >= 0; i--)
    if (strcmp(environment[i].name, name) == 0) return environment[i].value;
  return NULL;
}

const char *gc_strerror(int code) {
  const char *text = strerror(code);
  return text != NULL ? text : "unknown error";
}
