// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Other processes: their ends, and what a connector hears of them.

#include "Machine.h"

#include "CPlatformProcesses.h"

enum { most_processes = 64, first_process = 1000, most_messages = 64 };

typedef struct {
  bool is_child, has_ended, was_killed, is_reaped;
  int status;
  machine_file *descriptors[8];
  int descriptor_count;
} process;

static process processes[most_processes];
static int process_count;

typedef struct {
  int what;
  int32_t pid;
} message;

typedef struct connector {
  machine_file *file;
  message line[most_messages];
  int count;
  bool lost;
  struct connector *next;
} connector;

static connector *connectors;
static bool offers_connectors;

static void reset_processes(void) {
  memset(processes, 0, sizeof processes);
  process_count = 0;
  connectors = NULL;
  offers_connectors = false;
}
MACHINE_PART(processes, reset_processes)

static process *process_of(int32_t pid) {
  int index = pid - first_process;
  return index >= 0 && index < process_count && !processes[index].is_reaped ? &processes[index] : NULL;
}

int32_t ck_machine_start_process(bool is_child) {
  machine_point("a process starts", NULL);
  if (process_count == most_processes) ck_fail("the made-up machine has no room for one more process");
  processes[process_count] = (process){.is_child = is_child};
  return first_process + process_count++;
}

void ck_machine_end_process(int32_t pid, bool was_killed, int status) {
  machine_point("a process ends", NULL);
  process *process = process_of(pid);
  if (process == NULL || process->has_ended) return;
  process->has_ended = true;
  process->was_killed = was_killed;
  process->status = status;
  for (int i = 0; i < process->descriptor_count; i++) machine_notify(process->descriptors[i], 0);
}

void ck_machine_reap_process(int32_t pid) {
  machine_point("a process is reaped", NULL);
  process *process = process_of(pid);
  if (process != NULL && process->has_ended) process->is_reaped = true;
}

// MARK: Descriptors of processes

static uint32_t process_ready(machine_file *file) { return ((process *)file->state)->has_ended ? GC_EPOLLIN : 0; }

static void process_closed(machine_file *file) {
  process *process = file->state;
  for (int i = 0; i < process->descriptor_count; i++) {
    if (process->descriptors[i] != file) continue;
    process->descriptors[i] = process->descriptors[--process->descriptor_count];
    return;
  }
}

static const machine_kind process_kind = {
    .name = "pidfd", .ready = process_ready, .closed = process_closed, .is_watchable = true};

int gc_pidfd_open(int32_t pid) {
  machine_point("pidfd", NULL);
  process *process = process_of(pid);
  if (pid <= 0) return -EINVAL;
  if (process == NULL) return -ESRCH;
  if (process->descriptor_count == 8) return -EMFILE;
  int fd = machine_open(&process_kind, process, false);
  if (fd < 0) return fd;
  process->descriptors[process->descriptor_count++] = machine_file_of(fd);
  // A thread that uses the number must have it from here: the process's table of descriptors is memory, too.
  ck_plain_write(machine_file_of(fd), 8);
  return fd;
}

static int end_of(process *process, gc_process_end *end) {
  if (!process->is_child || process->is_reaped) return -ECHILD;
  *end = (gc_process_end){.has_ended = process->has_ended, .was_killed = process->was_killed, .status = process->status};
  return 0;
}

int gc_pidfd_end(int pidfd, gc_process_end *end) {
  machine_point("end of a process", NULL);
  machine_file *file = machine_file_of(pidfd);
  if (file == NULL || file->kind != &process_kind) return file == NULL ? -EBADF : -EINVAL;
  ck_plain_read(file, 8);
  return end_of(file->state, end);
}

int gc_process_end_of(int32_t pid, gc_process_end *end) {
  machine_point("end of a process", NULL);
  process *process = process_of(pid);
  return process == NULL ? -ESRCH : end_of(process, end);
}

// MARK: The connector

static uint32_t connector_ready(machine_file *file) {
  connector *connector = file->state;
  return connector->count > 0 || connector->lost ? GC_EPOLLIN : 0;
}

static void connector_closed(machine_file *file) {
  for (connector **link = &connectors; *link != NULL; link = &(*link)->next) {
    if (*link != file->state) continue;
    *link = (*link)->next;
    return;
  }
}

static const machine_kind connector_kind = {
    .name = "connector", .ready = connector_ready, .closed = connector_closed, .is_socket = true, .is_watchable = true};

void ck_machine_offer_connectors(void) { offers_connectors = true; }

int gc_connector_open(void) {
  machine_point("connector", NULL);
  if (!offers_connectors) return -EPERM;
  connector *made = machine_new(sizeof *made);
  int fd = machine_open(&connector_kind, made, true);
  if (fd < 0) return fd;
  made->file = machine_file_of(fd);
  made->next = connectors;
  connectors = made;
  return fd;
}

void gc_connector_close(int fd) { gc_close(fd); }

int gc_connector_next(int fd, int32_t *pid, int32_t *child) {
  machine_point("connector-next", machine_file_of(fd));
  machine_file *file = machine_file_of(fd);
  // The machine does not say which process is made.
  *pid = *child = 0;
  if (file == NULL || file->kind != &connector_kind) return -EBADF;
  connector *connector = file->state;
  machine_sync(file);
  if (connector->lost) {
    connector->lost = false;
    return GC_CONNECTOR_LOST;
  }
  if (connector->count == 0) return -EAGAIN;
  message first = connector->line[0];
  connector->count--;
  memmove(connector->line, connector->line + 1, (size_t)connector->count * sizeof first);
  *pid = first.pid;
  return first.what;
}

static void broadcast(int what, int32_t pid) {
  for (connector *connector = connectors; connector != NULL; connector = connector->next) {
    if (connector->count == most_messages) connector->lost = true;
    else connector->line[connector->count++] = (message){what, pid};
    machine_notify(connector->file, GC_EPOLLIN);
  }
}

void ck_machine_process_forks(int32_t pid) {
  machine_point("a process forks", NULL);
  broadcast(GC_CONNECTOR_FORK, pid);
}

void ck_machine_process_executes(int32_t pid) {
  machine_point("a process executes", NULL);
  broadcast(GC_CONNECTOR_EXEC, pid);
}
