// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Three clocks. The core moves the uptime; the others are at a distance from it that steps and sleeps change.

#include "Machine.h"

uint64_t machine_wall_offset, machine_boot_offset;
/// What reading the counter has taken of it.
static uint64_t cycles_read;
static bool hides_pace;

static void reset_clocks(void) {
  hides_pace = false;
  machine_wall_offset = 1700000000000000000u;
  machine_boot_offset = 5000000000u;
  cycles_read = 0;
}
MACHINE_PART(clocks, reset_clocks)

uint64_t gc_clock_uptime(void) {
  machine_point("clock", NULL);
  return machine_uptime();
}

uint64_t gc_clock_continuous(void) {
  machine_point("clock", NULL);
  return machine_uptime() + machine_boot_offset;
}

uint64_t gc_clock_wall(void) {
  machine_point("clock", NULL);
  return machine_uptime() + machine_wall_offset;
}

enum { cycles_a_nanosecond = 2, cycles_a_reading = 2000 };

void ck_machine_hide_pace(void) { hides_pace = true; }
uint64_t gc_cycles_per_second(void) { return hides_pace ? 0 : 1000000000u * cycles_a_nanosecond; }

uint64_t gc_cycles(void) {
  cycles_read += cycles_a_reading;
  return machine_uptime() * cycles_a_nanosecond + cycles_read;
}

uint64_t machine_uptime_of(int clock, uint64_t instant) {
  uint64_t offset = clock == GC_CLOCK_WALL ? machine_wall_offset : clock == GC_CLOCK_BOOT ? machine_boot_offset : 0;
  return instant == UINT64_MAX ? instant : instant > offset ? instant - offset : 0;
}

void ck_machine_step_wall(int64_t nanoseconds) {
  machine_point("step of the wall clock", NULL);
  machine_wall_offset += (uint64_t)nanoseconds;
  machine_timers_jumped(true);
  machine_futexes_jumped();
}

// The kernel reads the wall clock anew when it comes back: that counts as a step for the timers that asked for steps.
void ck_machine_suspend(uint64_t nanoseconds) {
  machine_point("the machine sleeps", NULL);
  machine_wall_offset += nanoseconds;
  machine_boot_offset += nanoseconds;
  machine_timers_jumped(true);
  machine_futexes_jumped();
}
