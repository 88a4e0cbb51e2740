//===- Probes.c - places where tracers may look in --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CPlatformProbes.h"

// Each probe is one instruction that does nothing, in a function of its own, which is called only while a tracer looks in. A
// tracer puts a breakpoint in its place. The note has the format of SystemTap's <sys/sdt.h>: the place, the address that
// `.stapsdt.base` was linked at, the semaphore, the names, and for each argument its size and where it is. All probes share a
// semaphore.

__attribute__((section(".probes"), used)) uint16_t gc_probes_semaphore;

// By where this is, a tool sees that the file has been moved to other addresses since it was linked.
__asm__(".pushsection .stapsdt.base,\"aGR\",%progbits,.stapsdt.base,comdat\n"
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n");

#define PROBE(name, places, ...)                                                                                          \
  __asm__ volatile(                                                                                                       \
      "990: nop\n"                                                                                                        \
      ".pushsection .note.stapsdt,\"\",%%note\n.balign 4\n"                                                               \
      ".4byte 992f - 991f, 994f - 993f, 3\n"                                                                              \
      "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                                         \
      "993: .8byte 990b, _.stapsdt.base, gc_probes_semaphore\n"                                                           \
      ".asciz \"dispatch\", \"" name "\", \"" places "\"\n994: .balign 4\n.popsection\n"                                   \
      ::__VA_ARGS__                                                                                                       \
      : "memory")

#define TWO "8@%0 8@%1"
#define THREE TWO " 8@%2"
#define FOUR THREE " 8@%3"
#define SIX FOUR " 8@%4 8@%5"

#define ITEM                                                                                                              \
  uintptr_t queue, const char *label, uintptr_t item, const void *kind, uintptr_t function, uintptr_t context
#define ITEM_ARGUMENTS "r"(queue), "r"(label), "r"(item), "r"(kind), "r"(function), "r"(context)

void gc_probe_queue_push(ITEM) { PROBE("queue__push", SIX, ITEM_ARGUMENTS); }
void gc_probe_queue_pop(ITEM) { PROBE("queue__pop", SIX, ITEM_ARGUMENTS); }

#define CALL uintptr_t queue, const char *label, uintptr_t function, uintptr_t context
#define CALL_ARGUMENTS "r"(queue), "r"(label), "r"(function), "r"(context)

void gc_probe_callout_entry(CALL) { PROBE("callout__entry", FOUR, CALL_ARGUMENTS); }
void gc_probe_callout_return(CALL) { PROBE("callout__return", FOUR, CALL_ARGUMENTS); }

void gc_probe_timer_configure(uintptr_t source, uintptr_t handler, const gc_probe_timer_params *params) {
  PROBE("timer__configure", THREE, "r"(source), "r"(handler), "r"(params));
}

void gc_probe_timer_program(uintptr_t source, uintptr_t handler, const gc_probe_timer_params *params) {
  PROBE("timer__program", THREE, "r"(source), "r"(handler), "r"(params));
}

void gc_probe_timer_wake(uintptr_t source, uintptr_t handler) {
  PROBE("timer__wake", TWO, "r"(source), "r"(handler));
}

void gc_probe_timer_fire(uintptr_t source, uintptr_t handler) {
  PROBE("timer__fire", TWO, "r"(source), "r"(handler));
}
