// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the checks do to a machine from outside: by the kernel's calls on the real one, by ck_machine_… on the made-up one.

#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

int outside_sockets(int fds[2]);
int outside_end_writing(int socket);
int outside_duplicate(int fd);
void outside_raise(int number);
void outside_ignore(int number);
void outside_handle(int number);
unsigned outside_handled(int number);
void outside_block(uint64_t mask);
/// Where the library finds the file that the others call `path`.
const char *outside_path(const char *path);
int outside_make_file(const char *path, const char *contents);
int outside_append(const char *path, const char *contents);
int outside_touch(const char *path);
int outside_remove(const char *path);
int outside_rename(const char *from, const char *to);
int outside_start_child(void);
/// `status` is the signal that ends it.
void outside_end_child(int pid, bool by_signal, int status);
void outside_reap_child(int pid);

#endif
