//===- Processes.c - what other processes are given ---------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A process that the program starts is not simulated. Pipes and socket pairs
// that it has as well are outside from then on.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

static GCS_REAL(
    int, posix_spawn,
    (pid_t * process, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
     char *const arguments[], char *const environment[]),
    (process, path, actions, attributes, arguments, environment))
static GCS_REAL(
    int, posix_spawnp,
    (pid_t * process, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
     char *const arguments[], char *const environment[]),
    (process, file, actions, attributes, arguments, environment))
static GCS_REAL(
    int, posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * actions, int descriptor, int number),
    (actions, descriptor, number))
static GCS_REAL(int, system, (const char *command), (command))
static GCS_REAL(FILE *, popen, (const char *command, const char *mode), (command, mode))

static void let_inherited_go(void) {
  if (gcs_is_simulated()) gcs_let_inherited_go();
}

int posix_spawn(
    pid_t *restrict process, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
  let_inherited_go();
  return __wrap_posix_spawn(process, path, actions, attributes, arguments, environment);
}

int posix_spawnp(
    pid_t *restrict process, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
  let_inherited_go();
  return __wrap_posix_spawnp(process, file, actions, attributes, arguments, environment);
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int descriptor, int number) {
  if (gcs_is_simulated()) gcs_let_go(descriptor);
  return __wrap_posix_spawn_file_actions_adddup2(actions, descriptor, number);
}

int system(const char *command) {
  let_inherited_go();
  return __wrap_system(command);
}

FILE *popen(const char *command, const char *mode) {
  let_inherited_go();
  return __wrap_popen(command, mode);
}

// A child of fork has all there is.

static void let_all_go(void) {
  if (gcs_is_simulated()) gcs_let_all_go();
}

void gcs_prepare_processes(void) {
  if (pthread_atfork(let_all_go, NULL, NULL) != 0) abort();
}

// So has one of vfork, and what it closes is its own. The parent goes on when the child is another program, or has ended: until then no
// simulated thread runs, so that the first one to look says whether it is the parent.
bool gcs_has_child;

bool gcs_is_parent(void) {
  if (!gcs_is_process()) return false;
  gcs_has_child = false;
  return true;
}

/// What the two lines below go on with.
__attribute__((used)) static void *prepare_vfork(void) {
  let_all_go();
  void *real = gcs_real("vfork");
  if (gcs_is_simulated()) gcs_has_child = true;
  return real;
}

// It returns twice, on the stack of its caller: so nothing may stand between the two.
#if defined(__x86_64__)
__asm__(".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
        "  sub $8, %rsp\n  call prepare_vfork\n  add $8, %rsp\n  jmp *%rax\n"
        ".size vfork, .-vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl vfork\n.type vfork, %function\nvfork:\n"
        "  stp x29, x30, [sp, #-16]!\n  bl prepare_vfork\n  ldp x29, x30, [sp], #16\n  br x0\n"
        ".size vfork, .-vfork\n");
#endif
