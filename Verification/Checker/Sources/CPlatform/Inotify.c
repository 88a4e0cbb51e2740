// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Watching files by their inode. Events stand in a line of 64; one more becomes an overflow.

#include "Machine.h"

#include "CPlatformFiles.h"

typedef struct inode_watch {
  struct machine_inode *inode;
  int number;
  uint32_t events;
  struct inode_watch *next;
} inode_watch;

typedef struct {
  int watch;
  uint32_t events, cookie, length;
  char name[64];
} event;

enum { most_events = 64, head_size = 16 };

typedef struct notifier {
  machine_file *file;
  inode_watch *watches;
  int last_number;
  event line[most_events + 1];
  size_t count;
  struct notifier *next;
} notifier;

static notifier *notifiers;
static void reset_notifiers(void) { notifiers = NULL; }
MACHINE_PART(inotify, reset_notifiers)

static uint32_t ready(machine_file *file) { return ((notifier *)file->state)->count > 0 ? GC_EPOLLIN : 0; }

static void append(notifier *notifier, int watch, uint32_t events, uint32_t cookie, const char *name) {
  event next = {.watch = watch, .events = events, .cookie = cookie};
  if (name != NULL && name[0] != 0) {
    strncpy(next.name, name, sizeof next.name - 1);
    next.length = (uint32_t)((strlen(next.name) + head_size) / head_size * head_size);
  }
  // The same event again, before the first one was read: one is enough.
  if (notifier->count > 0 && memcmp(&notifier->line[notifier->count - 1], &next, sizeof next) == 0) return;
  if (notifier->count > most_events) return;
  if (notifier->count == most_events) next = (event){.watch = -1, .events = GC_IN_Q_OVERFLOW};
  notifier->line[notifier->count++] = next;
  machine_notify(notifier->file, GC_EPOLLIN);
}

static ssize_t read_events(machine_file *file, void *buffer, size_t count) {
  notifier *notifier = file->state;
  if (notifier->count == 0) return -EAGAIN;
  size_t done = 0, taken = 0;
  while (taken < notifier->count) {
    event *first = &notifier->line[taken];
    size_t size = head_size + first->length;
    if (done + size > count) break;
    memcpy((char *)buffer + done, first, head_size);
    memcpy((char *)buffer + done + head_size, first->name, first->length);
    done += size;
    taken++;
  }
  if (taken == 0) return -EINVAL;
  notifier->count -= taken;
  memmove(notifier->line, notifier->line + taken, notifier->count * sizeof(event));
  return (ssize_t)done;
}

static void closed(machine_file *file) {
  for (notifier **link = &notifiers; *link != NULL; link = &(*link)->next) {
    if (*link != file->state) continue;
    *link = (*link)->next;
    return;
  }
}

static const machine_kind inotify_kind = {
    .name = "inotify", .ready = ready, .read = read_events, .closed = closed, .keeps_messages = true, .is_watchable = true};

int gc_inotify_create(void) {
  machine_point("inotify", NULL);
  notifier *made = machine_new(sizeof *made);
  int fd = machine_open(&inotify_kind, made, true);
  if (fd < 0) return fd;
  made->file = machine_file_of(fd);
  made->next = notifiers;
  notifiers = made;
  return fd;
}

static notifier *notifier_of(int fd) {
  machine_file *file = machine_file_of(fd);
  return file != NULL && file->kind == &inotify_kind ? file->state : NULL;
}

int gc_inotify_add(int inotify, int fd, bool parent, uint32_t events) {
  machine_point("inotify-add", machine_file_of(inotify));
  notifier *notifier = notifier_of(inotify);
  machine_file *file = machine_file_of(fd);
  if (notifier == NULL) return machine_file_of(inotify) == NULL ? -EBADF : -EINVAL;
  struct machine_inode *inode = file == NULL ? NULL : machine_inode_of(file);
  // The way to a folder's parent leads through the folder: a file has none.
  if (inode != NULL && parent && !inode->is_folder) return -ENOTDIR;
  if (inode != NULL && parent) inode = inode->is_linked ? machine_folder_of(inode->path) : NULL;
  if (inode == NULL) return -ENOENT;
  for (inode_watch *watch = notifier->watches; watch != NULL; watch = watch->next) {
    if (watch->inode != inode) continue;
    watch->events |= events;
    return watch->number;
  }
  if (machine_refuses(CK_MACHINE_WATCHES, "no watch")) return -ENOSPC;
  inode_watch *watch = machine_new(sizeof *watch);
  *watch = (inode_watch){inode, ++notifier->last_number, events, notifier->watches};
  notifier->watches = watch;
  return watch->number;
}

int gc_inotify_remove(int inotify, int number) {
  machine_point("inotify-remove", machine_file_of(inotify));
  notifier *notifier = notifier_of(inotify);
  if (notifier == NULL) return machine_file_of(inotify) == NULL ? -EBADF : -EINVAL;
  for (inode_watch **link = &notifier->watches; *link != NULL; link = &(*link)->next) {
    if ((*link)->number != number) continue;
    *link = (*link)->next;
    append(notifier, number, GC_IN_IGNORED, 0, NULL);
    return 0;
  }
  return -EINVAL;
}

static void tell_watches(struct machine_inode *inode, uint32_t events, uint32_t cookie, const char *name) {
  for (notifier *notifier = notifiers; notifier != NULL; notifier = notifier->next)
    for (inode_watch *watch = notifier->watches; watch != NULL; watch = watch->next)
      if (watch->inode == inode && (watch->events & events) != 0)
        append(notifier, watch->number, events, cookie, name);
}

/// `name` names a file in the folder `inode`; without one it is about `inode`, which its folder hears of too. An empty name
/// keeps it from the folder.
void machine_tell(struct machine_inode *inode, const char *name, uint32_t events, uint32_t cookie) {
  if (inode == NULL) return;
  if (name == NULL) {
    struct machine_inode *folder = machine_folder_of(inode->path);
    if (inode->is_linked && folder != inode) tell_watches(folder, events, cookie, strrchr(inode->path, '/') + 1);
  }
  tell_watches(inode, events, cookie, name);
}
