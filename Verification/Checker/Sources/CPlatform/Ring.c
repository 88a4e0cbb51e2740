// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// A ring of requests. The words that the library reads as atomics are the library's: this side reads them by
/// `ck_newest32`, and publishes a completion by `ck_kernel_store32`; on a scenario's thread, which is a thread of the kernel's
/// then, by `ck_kernel_take32` and `ck_kernel_give32`. Completions are plain memory.
///
/// A request is carried out when it completes: in the order in which they were handed over, some microseconds later, or
/// when a scenario says so.

#include "Machine.h"

#include "CPlatformRing.h"

enum { most_entries = 64, latency = 20000 };

typedef struct {
  bool writes;
  int fd;
  const gc_span *spans;
  int count;
  int64_t offset;
  uint64_t token;
} request;

typedef struct {
  uint64_t token;
  int32_t result;
  uint32_t flags;
} completion;

typedef struct ring_state {
  machine_file *file;
  uint32_t entries, submit_head;
  uint32_t *submit_tail, *complete_head, *complete_tail;
  request *submissions;
  completion *completions;
  request waiting[2 * most_entries];
  size_t first, count;
  struct ring_state *next;
} ring_state;

static ring_state *rings;
static bool offers, by_itself;
static void reset_rings(void) {
  rings = NULL;
  offers = false;
}
MACHINE_PART(rings, reset_rings)

void ck_machine_offer_rings(bool completes_by_itself) {
  offers = true;
  by_itself = completes_by_itself;
}

static uint32_t ring_ready(machine_file *file) {
  ring_state *ring = file->state;
  return (ck_newest32(ring->complete_tail) != ck_newest32(ring->complete_head) ? GC_EPOLLIN : 0) | GC_EPOLLOUT;
}

static const machine_kind ring_kind = {.name = "ring", .ready = ring_ready, .is_watchable = true};

int gc_ring_open(uint32_t entries, gc_ring *ring) {
  machine_point("ring-open", NULL);
  if (!offers) return -ENOSYS;
  if (entries == 0 || entries > most_entries) return -EINVAL;
  uint32_t room = 1;
  while (room < entries) room *= 2;
  ring_state *made = machine_new(sizeof *made);
  int fd = machine_open(&ring_kind, made, true);
  if (fd < 0) return fd;
  uint32_t *words = gc_malloc(3 * 64);
  memset(words, 0, 3 * 64);
  *made = (ring_state){.file = machine_file_of(fd),
                       .entries = room,
                       .submit_tail = words,
                       .complete_head = words + 16,
                       .complete_tail = words + 32,
                       .submissions = machine_new(room * 64),
                       .completions = machine_new(2 * room * sizeof(completion)),
                       .next = rings};
  rings = made;
  *ring = (gc_ring){.fd = fd,
                    .entries = room,
                    .submit_tail = made->submit_tail,
                    .submit_mask = room - 1,
                    .submissions = made->submissions,
                    .complete_head = made->complete_head,
                    .complete_tail = made->complete_tail,
                    .complete_mask = 2 * room - 1,
                    .completions = made->completions};
  return 0;
}

static ring_state *ring_of(const gc_ring *ring) {
  machine_file *file = machine_file_of(ring->fd);
  return file != NULL && file->kind == &ring_kind ? file->state : NULL;
}

void gc_ring_prepare(const gc_ring *ring, uint32_t index, bool writes, int fd, const gc_span *spans, int count,
                     int64_t offset, uint64_t token) {
  ring_state *state = ring_of(ring);
  if (state != NULL) state->submissions[index] = (request){writes, fd, spans, count, offset, token};
}

/// The transfers of a request, as by a thread of the kernel's that does not wait.
static ssize_t carry_out(const request *request) {
  machine_file *file = machine_file_of(request->fd);
  if (file == NULL) return -EBADF;
  size_t done = 0;
  for (int i = 0; i < request->count; i++) {
    const gc_span *span = &request->spans[i];
    ssize_t result;
    if (request->offset >= 0) {
      int64_t offset = request->offset + (int64_t)done;
      result = request->writes ? machine_write_at(file, span->start, span->count, offset)
                               : machine_read_at(file, span->start, span->count, offset);
    } else if (request->writes) {
      result = file->kind->write == NULL ? -EINVAL : file->kind->write(file, span->start, span->count);
    } else {
      result = file->kind->read == NULL ? -EINVAL : file->kind->read(file, span->start, span->count);
    }
    if (result < 0) return done > 0 ? (ssize_t)done : result;
    done += (size_t)result;
    if ((size_t)result < span->count) break;
  }
  return (ssize_t)done;
}

/// `on_thread`: else as by an interrupt, which no thread of the program's is ordered with.
static bool complete_first(ring_state *ring, bool on_thread) {
  if (ring->count == 0) return false;
  uint32_t tail = ck_newest32(ring->complete_tail);
  uint32_t head = on_thread ? ck_kernel_take32(ring->complete_head) : ck_newest32(ring->complete_head);
  // The kernel keeps what there is no room for.
  if (tail - head == 2 * ring->entries) return false;
  request request = ring->waiting[ring->first];
  ring->first = (ring->first + 1) % (2 * most_entries);
  ring->count--;
  completion *place = &ring->completions[tail & (2 * ring->entries - 1)];
  *place = (completion){.token = request.token, .result = (int32_t)carry_out(&request)};
  if (on_thread) {
    ck_plain_write(place, sizeof *place);
    ck_kernel_give32(ring->complete_tail, tail + 1);
  } else {
    ck_kernel_store32(ring->complete_tail, tail + 1);
  }
  machine_notify(ring->file, GC_EPOLLIN);
  return true;
}

static void complete_later(void *context) {
  ring_state *ring = context;
  if (!complete_first(ring, false) && ring->count > 0) ck_at(machine_after(latency), complete_later, ring);
}

bool ck_machine_complete(void) {
  machine_point("a request completes", NULL);
  for (ring_state *ring = rings; ring != NULL; ring = ring->next)
    if (complete_first(ring, true)) return true;
  return false;
}

int gc_ring_submit(const gc_ring *ring, uint32_t count) {
  machine_point("ring-submit", NULL);
  ring_state *state = ring_of(ring);
  if (state == NULL) return -EBADF;
  uint32_t tail = ck_newest32(state->submit_tail), taken = 0;
  while (taken < count && state->submit_head != tail) {
    if (state->count == 2 * state->entries) return taken > 0 ? (int)taken : -EBUSY;
    size_t place = (state->first + state->count++) % (2 * most_entries);
    state->waiting[place] = state->submissions[state->submit_head++ & (state->entries - 1)];
    taken++;
    if (by_itself) ck_at(machine_after(latency), complete_later, state);
  }
  return (int)taken;
}

void gc_ring_leave(const gc_ring *ring) { gc_close(ring->fd); }
