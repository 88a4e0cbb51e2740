// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the process shows of itself, as text, written by the process. A signal handler may do it, and a thread that holds
// any lock: nothing here allocates, waits or takes a lock, no signal comes of a write, and errno stays as it is. Arrays are found
// by what the library has put into the head, kept here, as other processes may write the region.

#define _GNU_SOURCE 1
#include "CPlatformIO.h"
#include "CPlatformInsightRegion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The text is written once in a process, by no means often: it is its size that counts, in each program.
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)

/// The region, as long as it is the process's own.
static void *region;
static gc_insight_head parts;

/// GRANDCENTRAL_DUMP, as it was when the program began.
static char setting[1024];

void gc_insight_dump_from(void *base, const gc_insight_head *head) {
  if (base != NULL) parts = *head;
  // pairs with: gc_insight_dump – publishes the parts
  __atomic_store_n(&region, base, __ATOMIC_RELEASE);
}

void *gc_insight_dumped(gc_insight_head *head) {
  // pairs with: gc_insight_dump_from – publishes the parts
  void *base = __atomic_load_n(&region, __ATOMIC_ACQUIRE);
  if (base != NULL) *head = parts;
  return base;
}

__attribute__((constructor)) static void keep_setting(void) {
  const char *value = secure_getenv("GRANDCENTRAL_DUMP");
  if (value != NULL && strlen(value) < sizeof setting) memcpy(setting, value, strlen(value) + 1);
}

// MARK: Lines

/// What writes a piece of a line is called from everywhere here, and is never copied there: the text is written once in a process.
#define PIECE static __attribute__((noinline)) void

/// A line, which is cut rather than longer. It goes to the kernel in one write.
typedef struct {
  int descriptor;
  bool failed;
  size_t length;
  char text[480];
} line;

static void add_byte(line *line, char byte) {
  if (line->length < sizeof line->text - 1) line->text[line->length++] = byte;
}

PIECE add(line *line, const char *text) {
  while (*text != 0) add_byte(line, *text++);
}

PIECE add_number(line *line, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) add_byte(line, digits[--count]);
}

/// A field of fixed length, in quotes; what could move a cursor is a question mark.
PIECE add_label(line *line, const char *field, size_t room) {
  add_byte(line, '"');
  for (size_t index = 0; index < room && field[index] != 0; index++) {
    unsigned char byte = (unsigned char)field[index];
    bool moves = byte < 0x20 || byte == 0x7f || (byte < 0xa0 && index > 0 && (unsigned char)field[index - 1] == 0xc2);
    add_byte(line, moves ? '?' : (char)byte);
  }
  add_byte(line, '"');
}

/// "1.234 s"
PIECE add_seconds(line *line, uint64_t nanoseconds) {
  add_number(line, nanoseconds / 1000000000);
  add_byte(line, '.');
  uint64_t rest = nanoseconds / 1000000 % 1000;
  add_byte(line, (char)('0' + rest / 100));
  add_byte(line, (char)('0' + rest / 10 % 10));
  add_byte(line, (char)('0' + rest % 10));
  add(line, " s");
}

PIECE end(line *line) {
  line->text[line->length++] = '\n';
  size_t written = 0;
  while (written < line->length) {
    ssize_t count = gc_write_quietly(line->descriptor, line->text + written, line->length - written);
    if (count <= 0) {
      line->failed = true;
      break;
    }
    written += (size_t)count;
  }
  line->length = 0;
}

// MARK: Clocks

typedef struct {
  uint64_t counter, uptime;
} moment;

static uint64_t clock_now(clockid_t clock) {
  struct timespec now = {0, 0};
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/// The time from a reading of the counter until `now`.
static uint64_t age(uint64_t counter, moment now) {
  if (counter == 0 || counter >= now.counter) return 0;
  uint64_t told = gc_cycles_per_second();
  unsigned __int128 steps = now.counter - counter;
  if (told != 0) return (uint64_t)(steps * 1000000000 / told);
  if (now.counter <= parts.counter || now.uptime <= parts.uptime) return 0;
  return (uint64_t)(steps * (now.uptime - parts.uptime) / (now.counter - parts.counter));
}

// MARK: Threads

bool gc_insight_copy_whole(void *copy, const void *entry, size_t size, uint32_t *sequence) {
  for (int attempt = 0; attempt < 100; attempt++) {
    // acquire: the copy is made after this look. pairs with: InsightSequence.change
    uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    gc_insight_copy(copy, entry, size);
    // The copy is made before the second look, as in InsightSequence.whole.
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint32_t after = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    if (before % 2 == 0 && before == after) return true;
  }
  return false;
}

static void add_name(line *line, uint32_t tid) {
  char path[48] = "/proc/self/task/", digits[12], name[17];
  size_t count = 0, length = strlen(path);
  do digits[count++] = (char)('0' + tid % 10);
  while ((tid /= 10) != 0);
  while (count > 0) path[length++] = digits[--count];
  memcpy(path + length, "/comm", 6);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t read_bytes = read(file, name, sizeof name - 1);
  close(file);
  if (read_bytes <= 1) return;
  name[read_bytes - 1] = 0;
  add_byte(line, ' ');
  add_label(line, name, sizeof name);
}

static void add_wait(line *line, const gc_insight_thread *thread) {
  static const char *const kinds[] = {
      "nothing", "its turn on queue ", "its item, which another thread runs, on queue ", "a group", "a semaphore",
      "a work item", "iterations that other threads run", "a once block", "something else"};
  add(line, " for ");
  uint32_t kind = thread->wait < sizeof kinds / sizeof *kinds ? thread->wait : GC_WAIT_OTHER;
  add(line, kinds[kind]);
  if (kind == GC_WAIT_QUEUE || kind == GC_WAIT_ITEM_ELSEWHERE) add_label(line, thread->waits_for, GC_INSIGHT_LABEL);
  if (kind == GC_WAIT_GROUP) {
    add(line, " of ");
    add_number(line, thread->count);
  }
  if (thread->owner != 0) {
    add(line, ", which thread ");
    add_number(line, thread->owner);
    add(line, " held");
  }
  if (thread->timed != 0) add(line, ", until a deadline");
}

static void show_thread(line *line, const gc_insight_thread *thread, bool is_whole, moment now) {
  static const char *const roles[] = {"program", "worker", "main", "monitor", "main"};
  static const char *const states[] = {"active", "asleep", "waits"};
  add(line, "  thread ");
  add_number(line, thread->tid);
  add_name(line, thread->tid);
  add(line, " (");
  add(line, roles[thread->role < sizeof roles / sizeof *roles ? thread->role : 0]);
  add(line, ")");
  if (thread->tid == gc_thread_id()) add(line, ", which writes this");
  if (!is_whole) {
    add(line, ": changes");
  } else {
    uint32_t state = thread->state < 3 ? thread->state : GC_STATE_ACTIVE;
    add(line, ": ");
    add(line, states[state]);
    add(line, " since ");
    add_seconds(line, age(thread->since, now));
    if (state == GC_STATE_WAITS) {
      add_wait(line, thread);
      if (thread->inside[0] != 0) {
        add(line, ", inside an item of queue ");
        add_label(line, thread->inside, GC_INSIGHT_LABEL);
      }
    }
    if (thread->item_begun != 0) {
      add(line, "; its item runs for ");
      add_seconds(line, age(thread->item_begun, now));
    }
  }
  end(line);
}

static uint32_t show_threads(line *line, char *base, uint32_t most, moment now) {
  uint32_t shown = 0, left_out = 0;
  for (uint32_t index = 0; index < parts.threads.count && !line->failed; index++) {
    gc_insight_thread *entry = (void *)(base + parts.threads.offset + (uint64_t)index * sizeof *entry);
    gc_insight_thread thread;
    if (__atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE) == 0) continue;
    bool is_whole = gc_insight_copy_whole(&thread, entry, sizeof thread, &entry->sequence);
    if (thread.tid == 0) continue;
    if (shown == most) {
      left_out++;
      continue;
    }
    shown++;
    show_thread(line, &thread, is_whole, now);
  }
  return left_out;
}

// MARK: Objects

static void add_timer(line *line, const gc_insight_state *state) {
  static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME};
  uint64_t now = clock_now(clocks[state->clock < 3 ? state->clock : 0]);
  if (state->due == UINT64_MAX) {
    add(line, ", never fires");
  } else if (state->due >= now) {
    add(line, ", fires in ");
    add_seconds(line, state->due - now);
  } else {
    add(line, ", due since ");
    add_seconds(line, now - state->due);
  }
  if (state->interval != 0) {
    add(line, ", every ");
    add_seconds(line, state->interval);
  }
}

/// What an object that is no queue watches and has.
static void add_state(line *line, const gc_insight_object *object) {
  const gc_insight_state copy = gc_insight_state_of(object), *state = &copy;
  uint32_t handle = (uint32_t)state->handle;
  switch (object->kind) {
  case GC_OBJECT_TIMER: add_timer(line, state); break;
  case GC_OBJECT_GROUP:
    add(line, ", members ");
    add_number(line, state->count);
    break;
  case GC_OBJECT_SOURCE:
    add_byte(line, ' ');
    add_label(line, state->what, sizeof state->what);
    add(line, " of ");
    add_number(line, handle);
    break;
  default:
    if ((int32_t)handle >= 0) {
      add(line, " of descriptor ");
      add_number(line, handle);
    }
    add(line, ", operations ");
    add_number(line, state->count);
    add(line, ", bytes to write ");
    add_number(line, state->bytes);
  }
  if (state->flags & GC_OBJECT_CANCELLED) add(line, object->kind == GC_OBJECT_CHANNEL ? ", closed" : ", cancelled");
}

static void show_object(line *line, const gc_insight_object *object, uint32_t number) {
  static const char *const kinds[] = {"object", "serial queue", "concurrent queue", "workloop", "main queue",
                                      "global queue", "source", "timer", "channel", "group"};
  add(line, "  object ");
  add_number(line, number);
  add(line, ": ");
  add(line, kinds[object->kind < sizeof kinds / sizeof *kinds ? object->kind : 0]);
  if (object->kind <= GC_OBJECT_GLOBAL) {
    add_byte(line, ' ');
    add_label(line, object->label, sizeof object->label);
  } else {
    add_state(line, object);
  }
  if (object->target != 0) {
    add(line, ", target ");
    add_number(line, object->target);
  }
  if (object->suspensions != 0) {
    add(line, ", suspended ");
    add_number(line, object->suspensions);
  }
  if (object->inactive != 0) add(line, ", inactive");
  end(line);
}

static uint32_t show_objects(line *line, char *base, uint32_t most) {
  gc_insight_head head;
  gc_insight_copy(&head, gc_insight_own_head(), sizeof head);
  uint32_t shown = 0, left_out = 0;
  for (uint32_t number = 1; number < head.objects_used && number < parts.objects.count && !line->failed; number++) {
    gc_insight_object *entry = (void *)(base + parts.objects.offset + (uint64_t)number * sizeof *entry);
    gc_insight_object object;
    if (!gc_insight_copy_whole(&object, entry, sizeof object, &entry->sequence) || object.kind == GC_OBJECT_FREE) continue;
    if (object.ended != 0) continue;
    if (shown == most) {
      left_out++;
      continue;
    }
    shown++;
    show_object(line, &object, number);
  }
  return left_out;
}

// MARK: All of it

static void show_left_out(line *line, uint32_t count, const char *what) {
  if (count == 0) return;
  add(line, "  and ");
  add_number(line, count);
  add(line, what);
  end(line);
}

bool gc_insight_dump(int descriptor, uint32_t most) {
  // pairs with: gc_insight_dump_from – publishes the parts
  char *base = __atomic_load_n(&region, __ATOMIC_ACQUIRE);
  if (base == NULL) return false;
  int former = errno;
  line line = {.descriptor = descriptor};
  moment now = {.counter = gc_cycles(), .uptime = clock_now(CLOCK_MONOTONIC)};
  add(&line, "  process ");
  add_number(&line, parts.pid);
  add(&line, ", as its threads and objects were:");
  end(&line);
  show_left_out(&line, show_threads(&line, base, most, now), " threads more");
  gc_insight_head head;
  gc_insight_copy(&head, gc_insight_own_head(), sizeof head);
  show_left_out(&line, head.unlisted, " threads more that wait, for which there is no room");
  show_left_out(&line, show_objects(&line, base, most), " objects more");
  errno = former;
  return !line.failed;
}

/// On standard error, where a person reads; a file has them all.
#define MOST_AT_FAULT 32

void gc_insight_dump_at_fault(void) {
  if (strcmp(setting, "off") == 0) return;
  if (setting[0] != '/') {
    gc_insight_dump(2, MOST_AT_FAULT);
    return;
  }
  // A pipe that nobody reads must not keep the process from ending.
  int file = open(setting, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  if (file < 0) return;
  gc_insight_dump(file, UINT32_MAX);
  close(file);
}

#pragma clang attribute pop
