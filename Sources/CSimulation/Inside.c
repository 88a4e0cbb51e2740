//===- Inside.c - what only this process makes ready --------------*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Pipes and socket pairs that the program has made are known by the numbers
// that the kernel gives their inodes, so that it does not matter what numbers
// their descriptors have and how many those are. One that another process has
// as well may be made ready by that: it is outside from then on.
//
// Event counters and timers have no numbers of their own. They are all taken
// for inside.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE 1
#include "Descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static GCS_REAL(int, pipe, (int ends[2]), (ends))
static GCS_REAL(int, pipe2, (int ends[2], int flags), (ends, flags))
static GCS_REAL(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))

// MARK: The list

struct inside {
  dev_t device;
  ino_t number;
  /// Both ends of a socket pair have the same.
  unsigned pair;
  bool is_open;
};

static struct inside *list;
static size_t count, room;
static unsigned pairs;

static struct inside *find(dev_t device, ino_t number) {
  for (size_t index = 0; index < count; index += 1) {
    if (list[index].device == device && list[index].number == number) return &list[index];
  }
  return NULL;
}

static struct inside *find_descriptor(int descriptor) {
  struct stat status;
  if (count == 0 || fstat(descriptor, &status) != 0) return NULL;
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ? find(status.st_dev, status.st_ino) : NULL;
}

static void remove_pair(unsigned pair) {
  for (size_t index = count; index-- > 0;) {
    if (list[index].pair == pair) list[index] = list[--count];
  }
}

bool gcs_for_each_descriptor(void (*body)(int descriptor)) {
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return false;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.') body(atoi(entry->d_name));
  }
  closedir(folder);
  return true;
}

static void note_open(int descriptor) {
  struct inside *found = find_descriptor(descriptor);
  if (found != NULL) found->is_open = true;
}

/// Whether one may be open on its way in a message alone, where it has no descriptor.
static bool keeps_closed;

void gcs_keep_closed(void) { keeps_closed = true; }

/// Forgets those that have been closed.
static void clean(void) {
  if (keeps_closed) return;
  for (size_t index = 0; index < count; index += 1) list[index].is_open = false;
  if (!gcs_for_each_descriptor(note_open)) return;
  for (size_t index = count; index-- > 0;) {
    if (!list[index].is_open) list[index] = list[--count];
  }
}

static void add(int descriptor, unsigned pair) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return;
  if (count == room) {
    clean();
    // At least a half is free behind this, so that the next time is far.
    size_t more = room == 0 ? 64 : count * 2 >= room ? room * 2 : room;
    struct inside *longer = more == room ? NULL : realloc(list, more * sizeof *list);
    if (longer != NULL) {
      list = longer;
      room = more;
    }
  }
  // One that is not noted is outside.
  if (count < room) list[count++] = (struct inside){.device = status.st_dev, .number = status.st_ino, .pair = pair};
}

/// Behind what has made two ends.
static int note(int error, const int ends[2]) {
  int kept = errno;
  // What a thread makes that takes no part, it may use; but before main there is no other one.
  if (error == 0 && (gcs_is_simulated() || !gcs_has_begun())) {
    unsigned pair = ++pairs;
    add(ends[0], pair);
    if (find_descriptor(ends[1]) == NULL) add(ends[1], pair);
  }
  errno = kept;
  return error;
}

int pipe(int ends[2]) { return note(__wrap_pipe(ends), ends); }
int pipe2(int ends[2], int flags) { return note(__wrap_pipe2(ends, flags), ends); }
int socketpair(int domain, int type, int protocol, int ends[2]) {
  return note(__wrap_socketpair(domain, type, protocol, ends), ends);
}

// MARK: What is let go

void gcs_let_go(int descriptor) {
  int kept = errno;
  struct inside *found = find_descriptor(descriptor);
  if (found != NULL) {
    remove_pair(found->pair);
    gcs_watches_let_go();
  }
  errno = kept;
}

void gcs_let_all_go(void) {
  int kept = errno;
  count = 0;
  gcs_watches_let_go();
  errno = kept;
}

static void let_go_if_inherited(int descriptor) {
  int flags = gcs_next_fcntl(descriptor, F_GETFD, NULL);
  if (flags >= 0 && (flags & FD_CLOEXEC) == 0) gcs_let_go(descriptor);
}

void gcs_let_inherited_go(void) {
  int kept = errno;
  if (count > 0 && !gcs_for_each_descriptor(let_go_if_inherited)) gcs_let_all_go();
  errno = kept;
}

// MARK: What a descriptor is

static unsigned sides_of(int descriptor, int depth);

int gcs_open_beyond(const char *path, int flags) {
  int file = open(path, flags | O_CLOEXEC, 0600);
  struct rlimit limit;
  if (file >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return file;
  struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) return -1;
  file = open(path, flags | O_CLOEXEC, 0600);
  int kept = errno;
  setrlimit(RLIMIT_NOFILE, &limit);
  errno = kept;
  return file;
}

/// What the epoll watches, some of which may have no descriptor of that number any more.
static unsigned watched_by(int epoll, int depth) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  int opened = gcs_open_beyond(path, O_RDONLY);
  FILE *file = opened < 0 ? NULL : fdopen(opened, "r");
  if (file == NULL) {
    if (opened >= 0) close(opened);
    return GCS_HAS_OUTSIDE;
  }
  unsigned sides = 0;
  int descriptor;
  unsigned long number;
  unsigned device;
  while (fgets(line, sizeof line, file) != NULL) {
    int fields = sscanf(line, "tfd: %d events: %*x data: %*x pos:%*d ino:%lx sdev:%x", &descriptor, &number, &device);
    if (fields < 1) continue;
    bool is_known = fields == 3 && find(makedev(0, device), number) != NULL;
    sides |= is_known ? GCS_HAS_INSIDE : sides_of(descriptor, depth);
  }
  fclose(file);
  return sides;
}

static enum gcs_place place_of(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return GCS_OUTSIDE;
  bool is_socket = S_ISSOCK(status.st_mode);
  if (is_socket || S_ISFIFO(status.st_mode)) {
    if (find(status.st_dev, status.st_ino) == NULL) return GCS_OUTSIDE;
    return is_socket ? GCS_SOCKET : GCS_PIPE;
  }
  if ((status.st_mode & S_IFMT) != 0) return GCS_OUTSIDE;
  char path[64], target[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return GCS_OUTSIDE;
  target[length] = 0;
  if (strcmp(target, "anon_inode:[eventfd]") == 0) return GCS_COUNTER;
  if (strcmp(target, "anon_inode:[timerfd]") == 0) return GCS_TIMER;
  return strcmp(target, "anon_inode:[eventpoll]") == 0 ? GCS_EPOLL : GCS_OUTSIDE;
}

static unsigned sides_of(int descriptor, int depth) {
  enum gcs_place place = place_of(descriptor);
  if (place != GCS_EPOLL) return place == GCS_OUTSIDE ? GCS_HAS_OUTSIDE : GCS_HAS_INSIDE;
  return depth < 5 ? watched_by(descriptor, depth + 1) : GCS_HAS_OUTSIDE;
}

unsigned gcs_sides_of(int descriptor) {
  int kept = errno;
  unsigned sides = sides_of(descriptor, 0);
  errno = kept;
  return sides;
}

enum gcs_place gcs_place_of(int descriptor) {
  int kept = errno;
  enum gcs_place place = place_of(descriptor);
  errno = kept;
  return place;
}

const char *gcs_name_of(enum gcs_place place) {
  switch (place) {
    case GCS_PIPE: return "a pipe";
    case GCS_SOCKET: return "one of a socket pair";
    case GCS_COUNTER: return "an event counter";
    case GCS_TIMER: return "a timer";
    case GCS_EPOLL: return "an epoll";
    case GCS_OUTSIDE: break;
  }
  return "of the outside";
}
