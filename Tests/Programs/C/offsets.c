// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What tools read from a queue through the table of offsets is there.

#include <dispatch/dispatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern const uint16_t dispatch_queue_offsets[17];

static uint16_t width(dispatch_queue_t queue) {
  uint16_t word;
  memcpy(&word, (const char *)queue + dispatch_queue_offsets[7], sizeof word);
  return word;
}

// Of a queue or a source.
static dispatch_queue_t target(const void *object) {
  dispatch_queue_t pointer;
  memcpy(&pointer, (const char *)object + dispatch_queue_offsets[13], sizeof pointer);
  return pointer;
}

int main(void) {
  dispatch_queue_t first = dispatch_queue_create("first", NULL);
  dispatch_queue_t second = dispatch_queue_create_with_target("second", DISPATCH_QUEUE_CONCURRENT, first);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_ADD, 0, 0, first);
  int ok = target(source) == first && width(first) == 1 && width(second) > 1 && target(second) == first && width(dispatch_get_main_queue()) == 1 &&
      !target(dispatch_get_main_queue()) && width(dispatch_get_global_queue(0, 0)) > 1 &&
      !target(dispatch_get_global_queue(0, 0)) && target(first) == dispatch_get_global_queue(0, 0);
  dispatch_activate(source);
  dispatch_release(source);
  dispatch_release(second);
  dispatch_release(first);
  puts(ok ? "ok" : "the table and the objects differ");
  return !ok;
}
