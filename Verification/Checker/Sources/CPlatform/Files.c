// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// A few files in memory, and what /proc says of threads.

#include "Machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "CPlatformFiles.h"
#include "CPlatformIO.h"
#include "CPlatformPressure.h"

typedef struct machine_inode inode;

enum { most_inodes = 64 };
static inode *inodes[most_inodes];
static int inode_count;
static uint32_t cookies;

static inode *make(const char *path, bool is_folder) {
  if (inode_count == most_inodes || strlen(path) >= sizeof inodes[0]->path) return NULL;
  inode *made = machine_new(sizeof *made);
  *made = (inode){.number = (uint64_t)inode_count + 2, .is_folder = is_folder, .is_linked = true};
  strcpy(made->path, path);
  return inodes[inode_count++] = made;
}

static void reset_files(void) {
  memset(inodes, 0, sizeof inodes);
  inode_count = 0;
  cookies = 0;
  make("/", true);
}
MACHINE_PART(files, reset_files)

inode *machine_inode_at(const char *path) {
  for (int i = 0; i < inode_count; i++)
    if (inodes[i]->is_linked && strcmp(inodes[i]->path, path) == 0) return inodes[i];
  return NULL;
}

inode *machine_folder_of(const char *path) {
  char folder[sizeof inodes[0]->path];
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return NULL;
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  memcpy(folder, path, length);
  folder[length] = 0;
  inode *found = machine_inode_at(folder);
  return found != NULL && found->is_folder ? found : NULL;
}

static const char *name_of(const char *path) { return strrchr(path, '/') + 1; }

static bool resize(inode *inode, size_t size) {
  if (size > 1 << 20) return false;
  if (size > inode->room) {
    size_t room = inode->room == 0 ? 256 : inode->room;
    while (room < size) room *= 2;
    char *bytes = machine_new(room);
    memcpy(bytes, inode->bytes, inode->size);
    inode->bytes = bytes;
    inode->room = room;
  }
  if (size > inode->size) memset(inode->bytes + inode->size, 0, size - inode->size);
  inode->size = size;
  return true;
}

// MARK: Open files

static uint32_t always_ready(machine_file *file) {
  (void)file;
  return GC_EPOLLIN | GC_EPOLLOUT;
}

inode *machine_inode_of(machine_file *file) {
  return file->kind == &machine_regular || file->kind == &machine_path ? file->state : NULL;
}

uint64_t machine_file_size(machine_file *file) { return machine_inode_of(file)->size; }

ssize_t machine_read_at(machine_file *file, void *buffer, size_t count, int64_t offset) {
  inode *inode = machine_inode_of(file);
  if (inode == NULL || file->kind == &machine_path) return -EBADF;
  if (inode->is_folder) return -EISDIR;
  if ((uint64_t)offset >= inode->size) return 0;
  size_t part = inode->size - (size_t)offset < count ? inode->size - (size_t)offset : count;
  memcpy(buffer, inode->bytes + offset, part);
  return (ssize_t)part;
}

ssize_t machine_write_at(machine_file *file, const void *buffer, size_t count, int64_t offset) {
  inode *inode = machine_inode_of(file);
  if (inode == NULL || inode->is_folder) return -EBADF;
  if (file->appends) offset = (int64_t)inode->size;
  size_t end = (size_t)offset + count;
  if (end > inode->size && !resize(inode, end)) return -ENOSPC;
  memcpy(inode->bytes + offset, buffer, count);
  if (count > 0) machine_tell(inode, NULL, GC_IN_MODIFY, 0);
  return (ssize_t)count;
}

static ssize_t regular_read(machine_file *file, void *buffer, size_t count) {
  ssize_t result = machine_read_at(file, buffer, count, file->position);
  if (result > 0) file->position += result;
  return result;
}

static ssize_t regular_write(machine_file *file, const void *buffer, size_t count) {
  ssize_t result = machine_write_at(file, buffer, count, file->position);
  if (result > 0) file->position = file->appends ? (int64_t)machine_file_size(file) : file->position + result;
  return result;
}

const machine_kind machine_regular = {
    .name = "file", .ready = always_ready, .read = regular_read, .write = regular_write, .is_file = true};
static ssize_t path_read(machine_file *file, void *buffer, size_t count) {
  (void)file, (void)buffer, (void)count;
  return -EBADF;
}

const machine_kind machine_path = {.name = "path", .ready = always_ready, .read = path_read, .is_file = true};

/// The state letter of a thread, as in "/proc/self/task/7/stat".
static inode *make_stat(const char *path) {
  const char *before = "/proc/self/task/";
  if (strncmp(path, before, strlen(before)) != 0) return NULL;
  char *end;
  unsigned long number = strtoul(path + strlen(before), &end, 10);
  machine_thread *thread = machine_thread_of((uint32_t)number);
  if (strcmp(end, "/stat") != 0 || thread == NULL) return NULL;
  inode *made = machine_new(sizeof *made);
  *made = (inode){.number = 1, .bytes = machine_new(96)};
  bool waits = thread->is_blocked && !thread->computes;
  made->size = (size_t)snprintf(made->bytes, 96, "%lu (%s) %c 1 1\n", number, thread->name, waits ? 'S' : 'R');
  return made;
}

static int open_path(const char *path, int flags, const machine_kind *kind) {
  inode *found = machine_inode_at(path);
  if (found == NULL) found = make_stat(path);
  if (found == NULL && (flags & O_CREAT) != 0) {
    if (machine_folder_of(path) == NULL) return -ENOENT;
    found = make(path, false);
    if (found == NULL) return -ENOSPC;
    machine_tell(machine_folder_of(path), name_of(path), GC_IN_CREATE, 0);
  } else if (found != NULL && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
    return -EEXIST;
  }
  if (found == NULL) return -ENOENT;
  if (found->is_folder && (flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
  int fd = machine_open(kind, found, (flags & O_NONBLOCK) != 0);
  if (fd < 0) return fd;
  machine_file_of(fd)->appends = (flags & O_APPEND) != 0;
  if ((flags & O_TRUNC) != 0 && found->size > 0) {
    found->size = 0;
    machine_tell(found, NULL, GC_IN_MODIFY, 0);
  }
  return fd;
}

int gc_open_read(const char *path) {
  machine_point("open", NULL);
  return open_path(path, O_RDONLY, &machine_regular);
}

int gc_open_path(const char *path) {
  machine_point("open-path", NULL);
  return open_path(path, O_RDONLY, &machine_path);
}

int gc_channel_open(const char *path, int flags, unsigned mode) {
  (void)mode;
  machine_point("channel-open", NULL);
  return open_path(path, flags, &machine_regular);
}

int gc_channel_examine(const char *path, int flags, bool *seeks) {
  machine_point("examine", NULL);
  *seeks = true;
  inode *found = machine_inode_at(path);
  if (found == NULL) return (flags & O_CREAT) != 0 && machine_folder_of(path) != NULL ? 0 : -ENOENT;
  return found->is_folder ? -EISDIR : 0;
}

int gc_pressure_open(const char *path) {
  machine_point("pressure-open", NULL);
  return open_path(path, O_RDWR | O_NONBLOCK, &machine_regular);
}

ssize_t gc_pressure_read(int fd, void *buffer, size_t count) {
  machine_point("pressure-read", NULL);
  machine_file *file = machine_file_of(fd);
  return file == NULL ? -EBADF : machine_read_at(file, buffer, count, 0);
}

int gc_file_status_of(int fd, gc_file_status *status) {
  machine_point("fstat", NULL);
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  inode *inode = machine_inode_of(file);
  *status = (gc_file_status){.device = 1};
  if (inode == NULL) return 0;
  status->inode = inode->number;
  status->size = inode->size;
  status->links = inode->is_linked ? 1 : 0;
  status->is_directory = inode->is_folder;
  status->is_regular = !inode->is_folder;
  return 0;
}

// MARK: From outside

int ck_machine_make_file(const char *path, const char *contents) {
  machine_point("make a file", NULL);
  if (machine_inode_at(path) != NULL) return -EEXIST;
  inode *folder = machine_folder_of(path);
  if (folder == NULL) return -ENOENT;
  inode *made = make(path, contents == NULL);
  if (made == NULL) return -ENOSPC;
  if (contents != NULL && resize(made, strlen(contents))) memcpy(made->bytes, contents, made->size);
  machine_tell(folder, name_of(path), GC_IN_CREATE, 0);
  return 0;
}

int ck_machine_append(const char *path, const char *contents) {
  machine_point("append to a file", NULL);
  inode *found = machine_inode_at(path);
  if (found == NULL) return -ENOENT;
  size_t before = found->size;
  if (!resize(found, before + strlen(contents))) return -ENOSPC;
  memcpy(found->bytes + before, contents, strlen(contents));
  machine_tell(found, NULL, GC_IN_MODIFY, 0);
  return 0;
}

int ck_machine_touch(const char *path) {
  machine_point("touch a file", NULL);
  inode *found = machine_inode_at(path);
  if (found == NULL) return -ENOENT;
  machine_tell(found, NULL, GC_IN_ATTRIB, 0);
  return 0;
}

int ck_machine_remove_file(const char *path) {
  machine_point("remove a file", NULL);
  inode *found = machine_inode_at(path);
  if (found == NULL) return -ENOENT;
  inode *folder = machine_folder_of(path);
  found->is_linked = false;
  machine_tell(found, "", GC_IN_ATTRIB, 0);
  if (folder != NULL) machine_tell(folder, name_of(path), GC_IN_DELETE, 0);
  return 0;
}

int ck_machine_rename(const char *from, const char *to) {
  machine_point("rename a file", NULL);
  inode *found = machine_inode_at(from), *other = machine_inode_at(to);
  if (found == NULL || machine_folder_of(to) == NULL) return -ENOENT;
  if (strlen(to) >= sizeof found->path) return -ENAMETOOLONG;
  if (other != NULL) other->is_linked = false;
  cookies++;
  machine_tell(machine_folder_of(from), name_of(from), GC_IN_MOVED_FROM, cookies);
  strcpy(found->path, to);
  machine_tell(machine_folder_of(to), name_of(to), GC_IN_MOVED_TO, cookies);
  if (other != NULL) machine_tell(other, "", GC_IN_ATTRIB, 0);
  machine_tell(found, "", GC_IN_MOVE_SELF, 0);
  return 0;
}
