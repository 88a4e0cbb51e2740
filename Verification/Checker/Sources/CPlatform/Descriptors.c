// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The table of descriptors, and what is the same for all kinds of them.

#include "Machine.h"

#include <limits.h>

#include "CPlatformIO.h"

enum { most_descriptors = 1024, first_free = 3 };
static machine_file *table[most_descriptors];
static char output[4096];
static size_t output_count;

// MARK: Standard error

static uint32_t output_ready(machine_file *file) {
  (void)file;
  return GC_EPOLLOUT;
}

static ssize_t output_write(machine_file *file, const void *bytes, size_t count) {
  (void)file;
  // The newest lines stay.
  if (output_count + count >= sizeof output) output_count = 0;
  size_t kept = count < sizeof output - 1 ? count : sizeof output - 1;
  memcpy(output + output_count, bytes, kept);
  output_count += kept;
  output[output_count] = 0;
  return (ssize_t)count;
}

static const machine_kind output_kind = {.name = "output", .ready = output_ready, .write = output_write, .is_watchable = true};
static machine_file output_file;

static void reset_descriptors(void) {
  memset(table, 0, sizeof table);
  output_count = 0;
  output[0] = 0;
  output_file = (machine_file){.kind = &output_kind, .references = first_free};
  for (int fd = 0; fd < first_free; fd++) table[fd] = &output_file;
}
MACHINE_PART(descriptors, reset_descriptors)

const char *ck_machine_output(void) { return output; }

void gc_abort_slow(void) {
  static char line[512];
  size_t start = output_count;
  while (start > 0 && output[start - 1] == '\n') start--;
  size_t end = start;
  while (start > 0 && output[start - 1] != '\n') start--;
  size_t count = end - start < sizeof line - 1 ? end - start : sizeof line - 1;
  memcpy(line, output + start, count);
  line[count] = 0;
  ck_fail(count == 0 ? "the library has ended the process without a word" : line);
}

void gc_abort(void) { gc_abort_slow(); }

void gc_prepare_abort(gc_thread_address *address) { *address = (gc_thread_address){1, 1}; }

// MARK: Numbers

machine_file *machine_file_of(int fd) { return fd >= 0 && fd < most_descriptors ? table[fd] : NULL; }

static int free_number(void) {
  int limit = settings.descriptor_limit < most_descriptors ? settings.descriptor_limit : most_descriptors;
  for (int fd = 0; fd < limit; fd++)
    if (table[fd] == NULL) return fd;
  return -EMFILE;
}

int machine_open(const machine_kind *kind, void *state, bool is_nonblocking) {
  if (machine_refuses(CK_MACHINE_DESCRIPTORS, "no descriptor")) return -EMFILE;
  int fd = free_number();
  if (fd < 0) return fd;
  machine_file *file = machine_new(sizeof *file);
  *file = (machine_file){.kind = kind, .references = 1, .is_nonblocking = is_nonblocking, .state = state};
  table[fd] = file;
  return fd;
}

int ck_machine_duplicate(int fd) {
  machine_point("dup", NULL);
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  int other = free_number();
  if (other < 0) return other;
  file->references++;
  table[other] = file;
  return other;
}

int ck_machine_open_descriptors(void) {
  int count = 0;
  for (int fd = first_free; fd < most_descriptors; fd++) count += table[fd] != NULL;
  return count;
}

static void let_go(machine_file *file) {
  machine_sync(file);
  if (--file->references > 0) return;
  machine_forget_watches(file);
  if (file->kind->closed != NULL) file->kind->closed(file);
}

int gc_close(int fd) {
  machine_point("close", NULL);
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  table[fd] = NULL;
  let_go(file);
  return 0;
}

void machine_move(int fd, int number) {
  machine_file *former = table[number];
  table[number] = table[fd];
  table[fd] = NULL;
  if (former != NULL) let_go(former);
}

bool gc_is_open(int fd) {
  machine_point("is-open", NULL);
  return machine_file_of(fd) != NULL;
}

bool gc_descriptors_share(int fd, int other) {
  machine_file *file = machine_file_of(fd);
  return file != NULL && file == machine_file_of(other);
}

// MARK: Reading and writing

typedef ssize_t (*transfer)(machine_file *file, void *bytes, size_t count);

/// Does `work`, and waits in between if the descriptor blocks.
static ssize_t carry_out(int fd, transfer work, void *bytes, size_t count, bool now, const char *what) {
  machine_point(what, machine_file_of(fd));
  for (;;) {
    machine_file *file = machine_file_of(fd);
    if (file == NULL) return -EBADF;
    if (work == NULL) return -EINVAL;
    machine_sync(file);
    ssize_t result = work(file, bytes, count);
    machine_sync(file);
    if (result != -EAGAIN || file->is_nonblocking || now) return result;
    machine_block(file, UINT64_MAX, false, what);
  }
}

static ssize_t do_read(machine_file *file, void *bytes, size_t count) {
  return file->kind->read == NULL ? -EINVAL : file->kind->read(file, bytes, count);
}

static ssize_t do_write(machine_file *file, void *bytes, size_t count) {
  return file->kind->write == NULL ? -EINVAL : file->kind->write(file, bytes, count);
}

static ssize_t do_send(machine_file *file, void *bytes, size_t count) {
  return file->kind->is_socket ? machine_send(file, bytes, count) : -ENOTSOCK;
}

static ssize_t do_receive(machine_file *file, void *bytes, size_t count) {
  return file->kind->is_socket ? file->kind->read(file, bytes, count) : -ENOTSOCK;
}

ssize_t gc_read(int fd, void *buffer, size_t count) { return carry_out(fd, do_read, buffer, count, false, "read"); }

/// Writes all bytes if the descriptor blocks.
static ssize_t write_all(int fd, const char *bytes, size_t count, bool now) {
  size_t done = 0;
  do {
    ssize_t result = carry_out(fd, do_write, (void *)(bytes + done), count - done, now, "write");
    if (result < 0) {
      if (result == -EPIPE) machine_broken_pipe();
      return done > 0 ? (ssize_t)done : result;
    }
    done += (size_t)result;
    machine_file *file = machine_file_of(fd);
    if (file == NULL || file->is_nonblocking || now) break;
  } while (done < count);
  return (ssize_t)done;
}

ssize_t gc_write(int fd, const void *buffer, size_t count) { return write_all(fd, buffer, count, false); }

ssize_t gc_write_quietly(int fd, const void *bytes, size_t count) {
  return carry_out(fd, do_write, (void *)bytes, count, false, "write");
}

ssize_t gc_receive(int fd, void *start, size_t count) {
  return carry_out(fd, do_receive, start, count, true, "receive");
}

ssize_t gc_send(int fd, const gc_span *spans, int count) {
  size_t done = 0;
  for (int i = 0; i < count; i++) {
    ssize_t result = carry_out(fd, do_send, spans[i].start, spans[i].count, true, "send");
    if (result < 0) return done > 0 ? (ssize_t)done : result;
    done += (size_t)result;
    if ((size_t)result < spans[i].count) break;
  }
  return (ssize_t)done;
}

ssize_t gc_readv(int fd, const gc_span *spans, int count, int64_t offset, int manner) {
  machine_file *file = machine_file_of(fd);
  if (offset >= 0 && file != NULL && !file->kind->is_file) return -ESPIPE;
  size_t done = 0;
  for (int i = 0; i < count; i++) {
    ssize_t result;
    if (offset >= 0 && file != NULL) {
      machine_point("pread", file);
      result = machine_read_at(file, spans[i].start, spans[i].count, offset + (int64_t)done);
    } else {
      // Once some bytes are there it does not wait for more.
      result = carry_out(fd, do_read, spans[i].start, spans[i].count, done > 0 || (manner & GC_IO_NOWAIT) != 0, "readv");
    }
    if (result < 0) return done > 0 ? (ssize_t)done : result;
    done += (size_t)result;
    if ((size_t)result < spans[i].count) break;
  }
  return (ssize_t)done;
}

ssize_t gc_writev(int fd, const gc_span *spans, int count, int64_t offset, int manner, bool may_break) {
  machine_file *file = machine_file_of(fd);
  if (offset >= 0 && file != NULL && !file->kind->is_file) return -ESPIPE;
  size_t done = 0;
  for (int i = 0; i < count; i++) {
    ssize_t result;
    if (offset >= 0 && file != NULL) {
      machine_point("pwrite", file);
      result = machine_write_at(file, spans[i].start, spans[i].count, offset + (int64_t)done);
    } else if (may_break) {
      result = carry_out(fd, do_write, spans[i].start, spans[i].count, (manner & GC_IO_NOWAIT) != 0, "writev");
    } else {
      result = write_all(fd, spans[i].start, spans[i].count, (manner & GC_IO_NOWAIT) != 0);
    }
    if (result < 0) return done > 0 ? (ssize_t)done : result;
    done += (size_t)result;
    if ((size_t)result < spans[i].count) break;
  }
  return (ssize_t)done;
}

// MARK: Questions

int gc_poll(int fd, uint32_t events) {
  machine_point("poll", machine_file_of(fd));
  machine_file *file = machine_file_of(fd);
  enum { not_open = 0x20 };
  if (file == NULL) return fd < 0 ? 0 : not_open;
  machine_sync(file);
  return (int)(file->kind->ready(file) & (events | GC_EPOLLERR | GC_EPOLLHUP) & 0xFFFF);
}

ssize_t gc_bytes_to_read(int fd) {
  machine_point("bytes-to-read", machine_file_of(fd));
  machine_file *file = machine_file_of(fd);
  size_t held, room;
  return file != NULL && machine_stream_bytes(file, &held, &room) ? (ssize_t)held : gc_bytes_left(fd);
}

ssize_t gc_room_to_write(int fd) {
  machine_point("room-to-write", machine_file_of(fd));
  machine_file *file = machine_file_of(fd);
  size_t held, room;
  return file != NULL && machine_stream_bytes(file, &held, &room) ? (ssize_t)room : 0;
}

bool gc_file_identity(int fd, uint64_t *device, uint64_t *inode, uint64_t *birth) {
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return false;
  struct machine_inode *known = machine_inode_of(file);
  *device = known != NULL;
  *birth = 0;  // No two files have one number.
  *inode = known != NULL ? (uintptr_t)known : (uintptr_t)file;
  return true;
}

ssize_t gc_bytes_left(int fd) {
  machine_file *file = machine_file_of(fd);
  if (file == NULL || file->kind != &machine_regular) return 0;
  int64_t left = (int64_t)machine_file_size(file) - file->position;
  return left > 0 ? (ssize_t)left : 0;
}

int64_t gc_move_position(int fd, int64_t distance) {
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  if (!file->kind->is_file) return -ESPIPE;
  if (file->position + distance < 0) return -EINVAL;
  return file->position += distance;
}

int gc_descriptor_describe(int fd, gc_descriptor_kind *kind) {
  machine_point("describe", NULL);
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  struct machine_inode *inode = machine_inode_of(file);
  *kind = (gc_descriptor_kind){
      .is_socket = file->kind->is_socket,
      .is_pipe = file->kind->is_pipe,
      .is_file = file->kind->is_file,
      .is_folder = inode != NULL && inode->is_folder,
      .is_nonblocking = file->is_nonblocking,
      .largest_message = file->kind->keeps_messages ? PTRDIFF_MAX : file->kind->is_pipe ? 4096 : 0,
      .position = file->kind->is_file ? file->position : -ESPIPE,
  };
  return 0;
}

bool gc_descriptor_is_nonblocking(int fd) {
  machine_point("is-nonblocking", NULL);
  machine_file *file = machine_file_of(fd);
  return file != NULL && file->is_nonblocking;
}

int gc_descriptor_set_nonblocking(int fd, bool on) {
  machine_point("set-nonblocking", NULL);
  machine_file *file = machine_file_of(fd);
  if (file == NULL) return -EBADF;
  file->is_nonblocking = on;
  return 0;
}
