// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Fibres: the threads of a scenario are stacks of one kernel thread, switched by hand.

#include "core.h"

#include <cstdlib>
#include <sys/mman.h>

extern "C" {
void ck_switch(void **save, void *load);
void ck_enter(void);
void ck_begin(void) { ck::self().body(ck::self().argument), ck::finishFibre(); }
}

#if defined(__x86_64__)
__asm__(
    ".text\n.globl ck_switch\n.hidden ck_switch\n.type ck_switch,@function\nck_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  retq\n"
    ".size ck_switch,.-ck_switch\n"
    ".globl ck_enter\n.hidden ck_enter\nck_enter:\n  xorl %ebp, %ebp\n  callq ck_begin\n  ud2\n");

static constexpr int kReturn = 6;
static constexpr int kWords = 9;
#elif defined(__aarch64__)
// Untried.
__asm__(
    ".text\n.globl ck_switch\n.hidden ck_switch\nck_switch:\n"
    "  sub sp, sp, #160\n  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n"
    ".globl ck_enter\n.hidden ck_enter\nck_enter:\n  mov x29, xzr\n  bl ck_begin\n  brk #1\n");

static constexpr int kReturn = 11;
static constexpr int kWords = 20;
#else
#error "no switch of fibres for this processor"
#endif

namespace ck {

Run *R;

namespace {
constexpr size_t kStack = 512 << 10;
constexpr size_t kGuard = 4096;

struct Local {
  void *memory;
  size_t size;
};
Local locals[4];
int localCount;

std::vector<char *> freeStacks;

char *takeStack() {
  if (!freeStacks.empty()) {
    char *stack = freeStacks.back();
    freeStacks.pop_back();
    return stack;
  }
  void *memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  mprotect(memory, kGuard, PROT_NONE);
  return static_cast<char *>(memory);
}

void saveLocals(Fibre &fibre) {
  char *to = fibre.local;
  for (int i = 0; i < localCount; to += locals[i++].size) memcpy(to, locals[i].memory, locals[i].size);
}

void loadLocals(const Fibre &fibre) {
  const char *from = fibre.local;
  for (int i = 0; i < localCount; from += locals[i++].size) memcpy(locals[i].memory, from, locals[i].size);
}
}  // namespace

bool isThreadLocal(uintptr_t address) {
  for (int i = 0; i < localCount; i++)
    if (address - reinterpret_cast<uintptr_t>(locals[i].memory) < locals[i].size) return true;
  return false;
}

void resume(Fibre &to) {
  Fibre *from = R->current;
  if (from == &to) return;
  saveLocals(*from);
  loadLocals(to);
  R->current = &to;
  ck_switch(&from->sp, to.sp);
}

void leaveRun() {
  resume(R->fibres[0]);
  __builtin_unreachable();
}

Fibre &startFibre(void (*body)(void *), void *argument) {
  if (R->threads + 1 >= kThreads) {
    // The scenario's own thread has ended, so the run has shown what it is to show. A pool may go on starting threads for long.
    if (R->fibres[1].state == State::ended) {
      R->outcome = Outcome::passed;
      leaveRun();
    }
    fail("the scenario has more than 15 threads");
  }
  Fibre &fibre = R->fibres[++R->threads];
  char *stack = fibre.stack ? fibre.stack : takeStack();
  memset(static_cast<void *>(&fibre), 0, sizeof fibre);
  fibre.id = R->threads;
  fibre.stack = stack;
  fibre.state = State::runnable;
  fibre.body = body;
  fibre.argument = argument;
  fibre.next.kind = Kind::start;
  void **top = reinterpret_cast<void **>(stack + kStack) - kWords;
  memset(top, 0, kWords * sizeof *top);
  top[kReturn] = reinterpret_cast<void *>(ck_enter);
  fibre.sp = top;
  R->runnable |= bit(fibre.id);
  return fibre;
}

void resetFibres() {
  for (int i = 0; i < kThreads; i++) R->fibres[i].state = State::unused;
  R->fibres[0].id = 0;
  R->current = &R->fibres[0];
  R->threads = 0;
  R->runnable = R->paused = 0;
}

}  // namespace ck

void ck_thread_local(void *memory, size_t size) {
  size_t all = size;
  for (int i = 0; i < ck::localCount; i++) all += ck::locals[i].size;
  if (ck::localCount == 4 || all > sizeof(ck::Fibre::local)) abort();
  ck::locals[ck::localCount++] = {memory, size};
}
