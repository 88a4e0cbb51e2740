// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The real header, but for what it defines inline and the made-up machine has to see: pauses, the processor's counter, the
/// end of the process. The other headers beside this one are the real ones.

#ifndef GC_CHECKED_CPLATFORM_H
#define GC_CHECKED_CPLATFORM_H

#define gc_pause gc_pause_of_processor
#define gc_cycles gc_cycles_of_processor
#define gc_cycles_per_second gc_cycles_per_second_of_processor
#define gc_abort gc_abort_of_process
#include "CPlatformReal.h"
#undef gc_pause
#undef gc_cycles
#undef gc_cycles_per_second
#undef gc_abort

#ifdef __cplusplus
extern "C" {
#endif

/// A point that gives way to other threads.
void gc_pause(void);
/// Follows the virtual clock; each reading takes a microsecond of it, so that spins end.
uint64_t gc_cycles(void);
uint64_t gc_cycles_per_second(void);
/// Ends the run as a failure; says what was written to standard error last.
__attribute__((noreturn)) void gc_abort(void);

#ifdef __cplusplus
}
#endif

#endif
