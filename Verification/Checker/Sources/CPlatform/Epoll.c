// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Epoll, by the kernel's own mechanism: a list of registrations that may be ready, in the order in which that was noticed.
///
///   notice   a file tells of events (0: all): each registration that asks for one of them joins the list, if it is armed
///   collect  each of the list's registrations leaves it, and is asked what is there now: nothing, it is forgotten until the
///            next notice; something, it is reported, and then
///              one-shot        disarmed until `modify`
///              edge-triggered  as it is: the next notice brings it back
///              else            it joins the list's end again
///
/// A registration belongs to a number and the open file behind it: it lives on while a second number keeps the file open,
/// and ends with the file.

#include "Machine.h"

#include "CPlatformSignals.h"

typedef struct epoll {
  machine_file *file;
  machine_watch *watches;
  machine_watch *first, *last;
} epoll;

struct machine_watch {
  epoll *epoll;
  machine_file *file;
  int fd;
  uint32_t events;
  uint64_t token;
  bool is_listed, is_gone;
  machine_watch *next_of_file, *next_of_epoll, *next_listed;
};

static const uint32_t manners = GC_EPOLLET | GC_EPOLLONESHOT | 1u << 29 | 1u << 28;

static void list(machine_watch *watch) {
  epoll *epoll = watch->epoll;
  if (watch->is_listed) return;
  watch->is_listed = true;
  watch->next_listed = NULL;
  if (epoll->first == NULL) epoll->first = watch;
  else epoll->last->next_listed = watch;
  epoll->last = watch;
}

static machine_watch *take_first(epoll *epoll) {
  machine_watch *watch = epoll->first;
  if (watch == NULL) return NULL;
  epoll->first = watch->next_listed;
  if (epoll->first == NULL) epoll->last = NULL;
  watch->is_listed = false;
  return watch;
}

void machine_notify(machine_file *file, uint32_t events) {
  for (machine_watch *watch = file->watches; watch != NULL; watch = watch->next_of_file) {
    if ((watch->events & ~manners) == 0) continue;
    if (events != 0 && (events & watch->events) == 0) continue;
    list(watch);
    machine_wake_all(watch->epoll);
    machine_notify(watch->epoll->file, GC_EPOLLIN);
  }
  machine_wake_all(file);
}

static uint32_t ready_now(machine_watch *watch) {
  return (watch->events & ~manners) == 0 ? 0 : watch->file->kind->ready(watch->file) & watch->events;
}

static uint32_t epoll_ready(machine_file *file) {
  epoll *epoll = file->state;
  for (machine_watch *watch = epoll->first; watch != NULL; watch = watch->next_listed)
    if (ready_now(watch) != 0) return GC_EPOLLIN;
  return 0;
}

static void unlink_from_file(machine_watch *watch) {
  for (machine_watch **link = &watch->file->watches; *link != NULL; link = &(*link)->next_of_file) {
    if (*link != watch) continue;
    *link = watch->next_of_file;
    return;
  }
}

static void remove_watch(machine_watch *watch) {
  epoll *epoll = watch->epoll;
  unlink_from_file(watch);
  for (machine_watch **link = &epoll->watches; *link != NULL; link = &(*link)->next_of_epoll) {
    if (*link != watch) continue;
    *link = watch->next_of_epoll;
    break;
  }
  if (!watch->is_listed) return;
  machine_watch *before = NULL;
  for (machine_watch *each = epoll->first; each != watch; each = each->next_listed) before = each;
  if (before == NULL) epoll->first = watch->next_listed;
  else before->next_listed = watch->next_listed;
  if (epoll->last == watch) epoll->last = before;
  watch->is_listed = false;
}

void machine_forget_watches(machine_file *file) {
  while (file->watches != NULL) remove_watch(file->watches);
}

static void epoll_closed(machine_file *file) {
  epoll *epoll = file->state;
  while (epoll->watches != NULL) remove_watch(epoll->watches);
}

static const machine_kind epoll_kind = {
    .name = "epoll", .ready = epoll_ready, .closed = epoll_closed, .is_watchable = true};

int gc_epoll_create(void) {
  machine_point("epoll-create", NULL);
  epoll *made = machine_new(sizeof *made);
  int fd = machine_open(&epoll_kind, made, false);
  if (fd >= 0) made->file = machine_file_of(fd);
  return fd;
}

// MARK: Registrations

static machine_watch *find(epoll *epoll, machine_file *file, int fd) {
  for (machine_watch *watch = epoll->watches; watch != NULL; watch = watch->next_of_epoll)
    if (watch->file == file && watch->fd == fd) return watch;
  return NULL;
}

/// Which epoll and which file; 0 or -errno.
static int resolve(int epfd, int fd, epoll **epoll, machine_file **file, const char *what) {
  machine_point(what, machine_file_of(epfd));
  machine_file *poller = machine_file_of(epfd);
  *file = machine_file_of(fd);
  if (poller == NULL || *file == NULL) return -EBADF;
  if (!(*file)->kind->is_watchable) return -EPERM;
  if (poller->kind != &epoll_kind || poller == *file) return -EINVAL;
  *epoll = poller->state;
  machine_sync(poller);
  machine_sync(*file);
  return 0;
}

static void look(machine_watch *watch) {
  if (ready_now(watch) == 0) return;
  list(watch);
  machine_wake_all(watch->epoll);
  machine_notify(watch->epoll->file, GC_EPOLLIN);
}

int gc_epoll_add(int epfd, int fd, uint32_t events, uint64_t token) {
  epoll *epoll;
  machine_file *file;
  int error = resolve(epfd, fd, &epoll, &file, "epoll-add");
  if (error != 0) return error;
  if (find(epoll, file, fd) != NULL) return -EEXIST;
  if (machine_refuses(CK_MACHINE_WATCHES, "no registration")) return -ENOSPC;
  machine_watch *watch = machine_new(sizeof *watch);
  *watch = (machine_watch){.epoll = epoll,
                           .file = file,
                           .fd = fd,
                           .events = events | GC_EPOLLERR | GC_EPOLLHUP,
                           .token = token,
                           .next_of_file = file->watches,
                           .next_of_epoll = epoll->watches};
  file->watches = watch;
  epoll->watches = watch;
  look(watch);
  return 0;
}

int gc_epoll_modify(int epfd, int fd, uint32_t events, uint64_t token) {
  epoll *epoll;
  machine_file *file;
  int error = resolve(epfd, fd, &epoll, &file, "epoll-modify");
  if (error != 0) return error;
  machine_watch *watch = find(epoll, file, fd);
  if (watch == NULL) return -ENOENT;
  watch->events = events | GC_EPOLLERR | GC_EPOLLHUP;
  watch->token = token;
  look(watch);
  return 0;
}

int gc_epoll_remove(int epfd, int fd) {
  epoll *epoll;
  machine_file *file;
  int error = resolve(epfd, fd, &epoll, &file, "epoll-remove");
  if (error != 0) return error;
  machine_watch *watch = find(epoll, file, fd);
  if (watch == NULL) return -ENOENT;
  remove_watch(watch);
  return 0;
}

// MARK: Waiting

static int collect(epoll *epoll, gc_epoll_event *events, int capacity) {
  int count = 0, listed = 0;
  for (machine_watch *watch = epoll->first; watch != NULL; watch = watch->next_listed) listed++;
  for (int i = 0; i < listed && count < capacity; i++) {
    machine_watch *watch = take_first(epoll);
    uint32_t happened = ready_now(watch);
    if (happened == 0) continue;
    machine_sync(watch->file);
    events[count++] = (gc_epoll_event){.events = happened, .token = watch->token};
    if ((watch->events & GC_EPOLLONESHOT) != 0) watch->events &= manners;
    else if ((watch->events & GC_EPOLLET) == 0) list(watch);
  }
  return count;
}

int gc_epoll_wait(int epfd, gc_epoll_event *events, int capacity, uint64_t timeout_ns) {
  enum { most = 128 };
  machine_point("epoll-wait", machine_file_of(epfd));
  machine_file *file = machine_file_of(epfd);
  if (file == NULL) return -EBADF;
  if (file->kind != &epoll_kind || capacity <= 0) return -EINVAL;
  if (capacity > most) capacity = most;
  epoll *epoll = file->state;
  uint64_t deadline = timeout_ns == 0 ? 0 : machine_after(timeout_ns);
  bool early = (settings.allowed & CK_MACHINE_WAKES) != 0;
  // A watched signal that all threads block is let in here.
  uint64_t mask, own = machine_self()->mask;
  bool lets_in = gc_signals_wait_mask(&mask);
  if (lets_in && timeout_ns == 0) gc_signals_set_mask(gc_signals_set_mask(mask));
  for (;;) {
    machine_sync(file);
    int count = collect(epoll, events, capacity);
    if (count == 0 && timeout_ns != 0 && lets_in) {
      gc_signals_set_mask(mask);
      count = collect(epoll, events, capacity);
      if (count > 0) machine_self()->mask = own;
    }
    if (count > 0 || timeout_ns == 0) return count;
    int result = machine_block(epoll, deadline, early, "epoll");
    machine_self()->mask = own;
    bool interrupted = machine_self()->is_interrupted || result == CK_SPURIOUS;
    // After a signal, and when the time is over, it looks once more.
    if (interrupted || result == CK_TIMED_OUT) {
      machine_sync(file);
      return collect(epoll, events, capacity);
    }
  }
}
