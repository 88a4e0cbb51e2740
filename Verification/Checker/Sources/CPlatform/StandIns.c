// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What a made-up machine has none of: the toolchain's own main queue, names of code, tasks; and the closures' words,
/// which are the real ones.

#include "Machine.h"

#include "CPlatformCallSites.h"
#include "CPlatformMainActor.h"

int gc_foreign_main_handle(void) { return -1; }
void gc_foreign_main_drain(int handle) { (void)handle; }

/// It lies there: nobody runs that queue.
bool gc_foreign_main_post(void (*item)(void *)) {
  (void)item;
  return true;
}

bool gc_foreign_main_is_current(void) { return false; }

bool gc_take_async_main(void (*run)(void)) {
  (void)run;
  return false;
}

bool gc_in_task(void) { return false; }

int gc_call_sites(void **addresses, int room) {
  (void)addresses;
  (void)room;
  return 0;
}

int gc_describe_code(const void *address, char *name, int name_room, char *place, int place_room) {
  (void)address;
  if (name_room > 0) name[0] = 0;
  if (place_room > 0) place[0] = 0;
  return 0;
}

void gc_demangle(char *name, int room) {
  (void)name;
  (void)room;
}

__attribute__((swiftcall)) void gc_closure_words(const void *function, const void *context, const void **words) {
  words[0] = function;
  words[1] = context;
}

__attribute__((swiftcall)) void gc_range_closure_words(const void *function, const void *context, const void **words) {
  gc_closure_words(function, context, words);
}
