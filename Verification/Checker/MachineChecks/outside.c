// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The checks' outside world on the made-up machine.

#include "outside.h"

#include "ck_machine.h"

int outside_sockets(int fds[2]) { return ck_machine_sockets(fds); }
int outside_end_writing(int socket) { return ck_machine_end_writing(socket); }
int outside_duplicate(int fd) { return ck_machine_duplicate(fd); }
void outside_raise(int number) { ck_machine_raise(number); }
void outside_ignore(int number) { ck_machine_ignore_signal(number); }
void outside_handle(int number) { ck_machine_handle_signal(number); }
unsigned outside_handled(int number) { return ck_machine_handled(number); }
void outside_block(uint64_t mask) { ck_machine_block_signals(mask); }
const char *outside_path(const char *path) { return path; }
int outside_make_file(const char *path, const char *contents) { return ck_machine_make_file(path, contents); }
int outside_append(const char *path, const char *contents) { return ck_machine_append(path, contents); }
int outside_touch(const char *path) { return ck_machine_touch(path); }
int outside_remove(const char *path) { return ck_machine_remove_file(path); }
int outside_rename(const char *from, const char *to) { return ck_machine_rename(from, to); }
int outside_start_child(void) { return ck_machine_start_process(true); }
void outside_end_child(int pid, bool by_signal, int status) { ck_machine_end_process(pid, by_signal, status); }
void outside_reap_child(int pid) { ck_machine_reap_process(pid); }
