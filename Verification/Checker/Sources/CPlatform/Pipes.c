// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Pipes, page by page as the kernel keeps them, and pairs of sockets.
///
/// A pipe has sixteen pages. A write fills up the last one only if the odd part of it fits there whole; a page is free
/// when its last byte has been read. So a pipe may be full with fewer than 65536 bytes in it.

#include "Machine.h"

enum { pages = 16, page_size = 4096 };

typedef struct {
  size_t start, count;
  char bytes[page_size];
} page;

typedef struct {
  page pages[pages];
  size_t first, used;
  int readers, writers;
  machine_file *read_end, *write_end;
} pipe_state;

static page *page_at(pipe_state *pipe, size_t index) { return &pipe->pages[(pipe->first + index) % pages]; }

// MARK: Pipes

static uint32_t read_end_ready(machine_file *file) {
  pipe_state *pipe = file->state;
  return (pipe->used > 0 ? GC_EPOLLIN : 0) | (pipe->writers == 0 ? GC_EPOLLHUP : 0);
}

static uint32_t write_end_ready(machine_file *file) {
  pipe_state *pipe = file->state;
  return (pipe->used < pages ? GC_EPOLLOUT : 0) | (pipe->readers == 0 ? GC_EPOLLERR : 0);
}

static ssize_t pipe_read(machine_file *file, void *buffer, size_t count) {
  pipe_state *pipe = file->state;
  if (count == 0) return 0;
  if (pipe->used == 0) return pipe->writers == 0 ? 0 : -EAGAIN;
  size_t done = 0;
  bool made_room = false;
  while (done < count && pipe->used > 0) {
    page *first = page_at(pipe, 0);
    size_t part = first->count < count - done ? first->count : count - done;
    memcpy((char *)buffer + done, first->bytes + first->start, part);
    first->start += part;
    first->count -= part;
    done += part;
    if (first->count > 0) break;
    if (pipe->used == pages) made_room = true;
    pipe->first = (pipe->first + 1) % pages;
    pipe->used--;
  }
  if (made_room && pipe->write_end != NULL) machine_notify(pipe->write_end, GC_EPOLLOUT);
  return (ssize_t)done;
}

static ssize_t pipe_write(machine_file *file, const void *buffer, size_t count) {
  pipe_state *pipe = file->state;
  if (count == 0) return 0;
  if (pipe->readers == 0) return -EPIPE;
  const char *bytes = buffer;
  size_t done = 0, odd = count % page_size;
  if (odd > 0 && pipe->used > 0) {
    page *last = page_at(pipe, pipe->used - 1);
    size_t end = last->start + last->count;
    if (end + odd <= page_size) {
      memcpy(last->bytes + end, bytes, odd);
      last->count += odd;
      done = odd;
    }
  }
  while (done < count && pipe->used < pages) {
    page *next = page_at(pipe, pipe->used++);
    size_t part = count - done < page_size ? count - done : page_size;
    *next = (page){.count = part};
    memcpy(next->bytes, bytes + done, part);
    done += part;
  }
  if (done == 0) return -EAGAIN;
  if (pipe->read_end != NULL) machine_notify(pipe->read_end, GC_EPOLLIN);
  return (ssize_t)done;
}

static void read_end_closed(machine_file *file) {
  pipe_state *pipe = file->state;
  pipe->readers = 0;
  pipe->read_end = NULL;
  if (pipe->write_end != NULL) machine_notify(pipe->write_end, 0);
}

static void write_end_closed(machine_file *file) {
  pipe_state *pipe = file->state;
  pipe->writers = 0;
  pipe->write_end = NULL;
  if (pipe->read_end != NULL) machine_notify(pipe->read_end, 0);
}

static const machine_kind read_end_kind = {.name = "pipe (reading)",
                                           .ready = read_end_ready,
                                           .read = pipe_read,
                                           .closed = read_end_closed,
                                           .is_pipe = true,
                                           .is_watchable = true};
static const machine_kind write_end_kind = {.name = "pipe (writing)",
                                            .ready = write_end_ready,
                                            .write = pipe_write,
                                            .closed = write_end_closed,
                                            .is_pipe = true,
                                            .is_watchable = true};

int gc_pipe(int fds[2]) {
  machine_point("pipe", NULL);
  pipe_state *pipe = machine_new(sizeof *pipe);
  *pipe = (pipe_state){.readers = 1, .writers = 1};
  int reading = machine_open(&read_end_kind, pipe, true);
  if (reading < 0) return reading;
  int writing = machine_open(&write_end_kind, pipe, true);
  if (writing < 0) {
    gc_close(reading);
    return writing;
  }
  pipe->read_end = machine_file_of(reading);
  pipe->write_end = machine_file_of(writing);
  fds[0] = reading;
  fds[1] = writing;
  return 0;
}

// MARK: Sockets

enum { socket_room = 65536 };

typedef struct socket_state {
  machine_file *file;
  struct socket_state *peer;
  char *bytes;
  size_t start, count;
  bool reads_no_more, writes_no_more, was_reset;
} socket_state;

static size_t socket_space(socket_state *socket) {
  return socket->peer == NULL ? socket_room : socket_room - socket->peer->count;
}

static uint32_t socket_ready(machine_file *file) {
  socket_state *socket = file->state;
  uint32_t events = socket->count > 0 ? GC_EPOLLIN : 0;
  if (socket->was_reset) events |= GC_EPOLLERR;
  if (socket->reads_no_more) events |= GC_EPOLLIN | GC_EPOLLRDHUP;
  if (socket->reads_no_more && socket->writes_no_more) events |= GC_EPOLLHUP;
  if (socket_space(socket) > 0) events |= GC_EPOLLOUT;
  return events;
}

static ssize_t socket_read(machine_file *file, void *buffer, size_t count) {
  socket_state *socket = file->state;
  if (socket->count == 0) {
    if (socket->was_reset) {
      socket->was_reset = false;
      return -ECONNRESET;
    }
    return socket->reads_no_more ? 0 : -EAGAIN;
  }
  size_t part = socket->count < count ? socket->count : count;
  for (size_t i = 0; i < part; i++) ((char *)buffer)[i] = socket->bytes[(socket->start + i) % socket_room];
  socket->start = (socket->start + part) % socket_room;
  socket->count -= part;
  if (part > 0 && socket->peer != NULL) machine_notify(socket->peer->file, GC_EPOLLOUT);
  return (ssize_t)part;
}

ssize_t machine_send(machine_file *file, const void *buffer, size_t count) {
  socket_state *socket = file->state;
  if (socket->peer == NULL || socket->writes_no_more || socket->peer->reads_no_more) return -EPIPE;
  socket_state *peer = socket->peer;
  size_t space = socket_space(socket), part = space < count ? space : count;
  if (part == 0 && count > 0) return -EAGAIN;
  for (size_t i = 0; i < part; i++)
    peer->bytes[(peer->start + peer->count + i) % socket_room] = ((const char *)buffer)[i];
  peer->count += part;
  if (part > 0) machine_notify(peer->file, GC_EPOLLIN);
  return (ssize_t)part;
}

static void socket_closed(machine_file *file) {
  socket_state *socket = file->state, *peer = socket->peer;
  if (peer == NULL) return;
  peer->peer = NULL;
  peer->reads_no_more = peer->writes_no_more = true;
  // What was sent and never read is lost.
  if (socket->count > 0) peer->was_reset = true;
  machine_notify(peer->file, 0);
}

static const machine_kind socket_kind = {.name = "socket",
                                         .ready = socket_ready,
                                         .read = socket_read,
                                         .write = machine_send,
                                         .closed = socket_closed,
                                         .is_socket = true,
                                         .is_watchable = true};

int ck_machine_sockets(int fds[2]) {
  machine_point("sockets", NULL);
  socket_state *pair[2];
  for (int i = 0; i < 2; i++) {
    pair[i] = machine_new(sizeof *pair[i]);
    pair[i]->bytes = machine_new(socket_room);
    fds[i] = machine_open(&socket_kind, pair[i], true);
    if (fds[i] >= 0) pair[i]->file = machine_file_of(fds[i]);
  }
  if (fds[0] < 0 || fds[1] < 0) {
    if (fds[0] >= 0) gc_close(fds[0]);
    if (fds[1] >= 0) gc_close(fds[1]);
    return -EMFILE;
  }
  pair[0]->peer = pair[1];
  pair[1]->peer = pair[0];
  return 0;
}

int ck_machine_end_writing(int fd) {
  machine_point("shutdown", machine_file_of(fd));
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  if (!file->kind->is_socket) return -ENOTSOCK;
  socket_state *socket = file->state;
  if (socket->peer == NULL) return -ENOTCONN;
  socket->writes_no_more = true;
  socket->peer->reads_no_more = true;
  machine_notify(socket->peer->file, 0);
  machine_notify(file, 0);
  return 0;
}

// MARK: How much is in them

bool machine_stream_bytes(machine_file *file, size_t *held, size_t *room) {
  if (file->kind->is_socket) {
    *held = ((socket_state *)file->state)->count;
    *room = socket_space(file->state);
    return true;
  }
  if (!file->kind->is_pipe) return false;
  pipe_state *pipe = file->state;
  *held = 0;
  for (size_t i = 0; i < pipe->used; i++) *held += page_at(pipe, i)->count;
  *room = (size_t)pages * page_size - *held;
  return true;
}
