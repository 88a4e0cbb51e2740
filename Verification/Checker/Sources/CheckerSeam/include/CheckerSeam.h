// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The seam between the checker's core (fibres, memory model, explorer: target Checker) and the made-up machine (target
// CPlatform of the checker's package: everything that the library asks of the kernel). The machine calls these; the core
// implements them (Swift with @_cdecl, or C). One kernel thread runs everything: fibres are stacks, switched by hand; the
// thread-local record gc_thread_record is saved and restored at each switch by the core.
#ifndef CK_SEAM_H
#define CK_SEAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ck_thread;  // 1 is the scenario's main thread; numbers are not used again within a run

// A point: the explorer may switch to another fibre here. `what` names it in the table ("clock", "futex-wake"); a literal.
void ck_point(const char *what, const void *address);
// A spin: the fibre gives way. It runs on when another one has made a step, or when none can.
void ck_pause(void);
// The kernel's barrier on all threads: all views become one, and the order of SeqCst fences passes through it.
void ck_barrier_all(void);
// One of `count` alternatives, explored as any other choice. 0 is the usual one: what a sane kernel does on a good day.
// The explorer bounds how many unusual answers a run may have.
uint32_t ck_choose(uint32_t count, const char *what);

// One of `count` alternatives that are all usual: what the program does, not how lucky it is. 0 comes first.
uint32_t ck_branch(uint32_t count, const char *what);
// All other fibres stop for good where they stand, and what they have done comes before what the calling one does next.
void ck_abandon_others(void);

// 0 outside of a run: constructors, the set-up of the explorer. Nothing is explored there.
ck_thread ck_self(void);
// Starts a fibre. The core never fails to; the machine decides by ck_choose whether the kernel refuses.
ck_thread ck_spawn(void (*body)(void *), void *argument);
void ck_set_name(const char *name);

// Blocks the calling fibre on `key` (any number that means something to the machine) until ck_wake, or until the virtual
// uptime `deadline` (UINT64_MAX: never). `spurious`: the explorer may end the wait for no reason (counts as unusual).
enum { CK_WOKEN = 0, CK_TIMED_OUT = 1, CK_SPURIOUS = 2 };
int ck_block(uintptr_t key, uint64_t deadline, bool spurious, const char *what);
// Makes up to `count` fibres that are blocked on `key` able to run; which ones is a choice, longest first as the usual one.
int ck_wake(uintptr_t key, int count);
// How many are blocked on it.
int ck_blocked(uintptr_t key);

// The value that a futex call compares: the newest store of that location, with what it happens after.
uint32_t ck_newest32(const void *word);

// A lock of the kernel's, taken and left: the calling fibre's view joins that of `object` (a descriptor, by any number), which
// becomes the fibre's.
void ck_kernel_sync(const void *object);
// A look at what was left there, a point of its own: the calling fibre's view joins that of `object`, and leaves nothing.
void ck_kernel_look(const char *what, const void *object);
// Whether the run has had no other thread yet.
bool ck_is_alone(void);
// A store of the kernel's into an atomic word, by no fibre. A thread that reads it takes over nothing.
void ck_kernel_store32(void *word, uint32_t value);
// What a thread of the kernel's does with an atomic word, here on the calling fibre: a load that acquires, a store that releases.
uint32_t ck_kernel_take32(const void *word);
void ck_kernel_give32(void *word, uint32_t value);

// Virtual uptime in nanoseconds. It moves by a little at each reading, and jumps to the next deadline when no fibre can run.
// When no fibre can run and there is no deadline, the run ends: well if the scenario's main thread has ended and every other
// fibre waits where the scenario's engine may rest (ck_set_resting), as a deadlock otherwise.
uint64_t ck_uptime(void);
// Called by the machine at the begin of each run and whenever it has a nearer event: at `uptime`, `fire(context)` runs on no
// fibre (it may only ck_wake and change the machine's tables). Returns an id for ck_cancel_event.
uint64_t ck_at(uint64_t uptime, void (*fire)(void *), void *context);
void ck_cancel_event(uint64_t id);
// The calling fibre's next waits are rest: being blocked there at the end is no deadlock (idle workers, the poller, the monitor).
void ck_set_resting(bool resting);

// Memory: a block that is freed has no history any more; an access to it afterwards is a finding. The machine's allocator
// calls these. Blocks are not used again within a run unless the scenario wants so (ABA).
void ck_memory_made(void *memory, size_t size);
void ck_memory_gone(void *memory, size_t size);

// The runtime's reference counts, unseen by the core: what came before a reference was given up comes before the object's end.
void ck_reference_dropped(const void *object);
void ck_object_ends(const void *object);

// Plain accesses of lock-free nodes; checked for races by vector clocks. (The library's sanitizer hooks call these.)
void ck_plain_read(const void *address, size_t size);
void ck_plain_write(void *address, size_t size);

// Ends the run as a failure, with one line; does not return.
__attribute__((noreturn)) void ck_fail(const char *line);

// The machine registers what brings it back to its first state; the core calls it before each run.
void ck_on_reset(void (*reset)(void));

#ifdef __cplusplus
}
#endif
#endif
