//===- CPlatformInsight.h - what other processes may look at ----*- C -*-===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The insight region: memory in which the engine keeps what tools read. It is a memfd, whose link in /proc/PID/fd is
// "/memfd:grandcentral (deleted)". A tool that the kernel allows to open that link maps it and looks: the process is not
// stopped, not woken, and need not run.
//
//   offset            what
//   0                 `gc_insight_head`, a page: the switches, the clocks, where everything is
//   head.threads      an array of `gc_insight_thread`: what each thread that has met the engine does and waits for
//   head.objects      an array of `gc_insight_object`: the queues and other objects that have a number; number 0 means none
//   head.names        an array of `gc_insight_name`: names of the program's own marks; number 0 means none
//   head.chunks       an array of `gc_insight_chunk`: records
//
// All of it but what has been used is holes. Every field has one writer at a time; readers believe nothing: a thread's
// and an object's record count only if `sequence` is even and the same before and after the look.
//
// The switches lie in the first word of the head, which the library has mapped over a page of its own data as well: to test
// a switch is a load from a fixed address. Tools change them in the region, atomically, bit by bit.
//
// A tool that starts a program would find its region too late if the program ends at once. It makes the memfd itself, a page with
// GC_INSIGHT_OFFER for a magic number and no `pid`, and hands it down to the command: a descriptor whose number stands in
// GRANDCENTRAL_REGION. The first process that needs a region and finds it there puts its `pid` into it, by exchange, and makes it
// its own. All others make one, as they do without a tool, and their threads keep their newest records. Behind a region that was
// handed down, at head.size, stands the text of /proc/PID/maps of that moment: the names of functions are found by it if the
// command has ended when the tool looks.
//
// A program that becomes another one by exec needs another page. The tool hands several down, of which each has the
// descriptor of the next one in `unlisted`. The process that takes a page puts its own number into the next one's
// `reserved`, and the next one into the place of the descriptor that it has taken: another process leaves that page
// alone.
//
// Version 2. A reader that does not know the version says so and reads nothing but the fields up to `pid`. In version 1 only
// queues were objects; all else is the same, so a reader of version 2 reads both.
//
//===----------------------------------------------------------------------===//
#ifndef GC_CPLATFORM_INSIGHT_H
#define GC_CPLATFORM_INSIGHT_H

#include "CPlatform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GC_INSIGHT_NAME "grandcentral"
#define GC_INSIGHT_MAGIC 0x7468676973434761u
#define GC_INSIGHT_VERSION 2u
/// In place of the magic number: a page that a tool has handed down with the command that it has started.
#define GC_INSIGHT_OFFER 0x7265666673434761u
/// The environment variable that says by which descriptor.
#define GC_INSIGHT_OFFER_VARIABLE "GRANDCENTRAL_REGION"
/// A tool that has not given a sign of life for so many nanoseconds is gone.
#define GC_INSIGHT_PATIENCE 3000000000u
/// In core files that the library writes: a note under the name GrandCentral, with the CLOCK_MONOTONIC of when it was written.
#define GC_INSIGHT_NOTE_MOMENT 1

enum {
  /// Everything that happens is recorded into chunks.
  GC_SWITCH_RECORD = 1,
  /// Objects get a number, and an entry, when they are made, not when they are first recorded.
  GC_SWITCH_OBJECTS = 2,
  /// A tool takes away the chunks that are full. Without it a thread keeps its newest ones and overwrites the oldest.
  GC_SWITCH_COLLECT = 4,
  /// A simulation runs: what would be recorded is told to it.
  GC_SWITCH_SIMULATE = 8,
  /// A tracer looks in at the probes of CPlatformProbes.h.
  GC_SWITCH_PROBE = 16,
};

/// An array in the region.
typedef struct gc_insight_part {
  uint64_t offset;
  uint32_t count;
  uint32_t stride;
} gc_insight_part;

typedef struct gc_insight_head {
  uint32_t switches;
  uint32_t version;
  uint64_t magic;
  uint64_t size;             ///< Of the whole region, in bytes.
  uint32_t pid;
  uint32_t parallelism;      ///< Workers wanted at once: the processors; 0 until it is known.
  uint64_t counter;          ///< The two clocks when the region was made: the processor's counter, and
  uint64_t uptime;           ///< CLOCK_MONOTONIC in nanoseconds, read one after the other.
  uint64_t heartbeat;        ///< Tool that collects: CLOCK_MONOTONIC, at least once a second. Recording ends without it.
  uint64_t lost;             ///< Records of threads that have no entry.
  gc_insight_part threads;
  gc_insight_part objects;
  gc_insight_part names;
  gc_insight_part chunks;
  uint32_t threads_used;     ///< Entries behind it have never been used. So for the others.
  uint32_t objects_used;
  uint32_t names_used;
  uint32_t chunks_used;
  uint64_t next_chunk;       ///< The number of the next chunk that is begun; the first is 1.
  char library[64];          ///< The library's version.
  uint32_t unlisted;         ///< Threads that wait in one of the library's calls and have no entry. Older libraries have 0 here.
  uint32_t reserved;         ///< 0. Of a page that a tool has handed down: the process that it is kept for, or 0.
  gc_insight_part workers;   ///< Words: the kernel's number of each worker that has not slept yet, or 0. Older libraries have none.
} gc_insight_head;

/// The words of `head.workers` lie in the head's page, behind the head. A worker gets an entry of its own when it first sleeps, waits
/// or records: one whose first item blocks would be seen by nobody.
#define GC_INSIGHT_WORKERS_OFFSET 2048u
#define GC_INSIGHT_WORKERS 512u

enum {
  GC_THREAD_PROGRAM = 0,
  GC_THREAD_WORKER = 1,
  GC_THREAD_MAIN = 2,
  GC_THREAD_MONITOR = 3,
  /// The main thread, which does nothing but run the main queue: it is in an item whenever it is active.
  GC_THREAD_MAIN_LOOP = 4,
};

enum {
  /// Runs, or has not been here lately.
  GC_STATE_ACTIVE = 0,
  /// A worker without work.
  GC_STATE_ASLEEP = 1,
  /// Waits in one of the library's calls: `wait` and so on say for what.
  GC_STATE_WAITS = 2,
};

enum {
  GC_WAIT_NONE = 0,
  /// `sync` waits for its turn on a queue.
  GC_WAIT_QUEUE = 1,
  /// `sync` waits for its item, which another thread runs.
  GC_WAIT_ITEM_ELSEWHERE = 2,
  GC_WAIT_GROUP = 3,
  GC_WAIT_SEMAPHORE = 4,
  /// A work item's `wait`.
  GC_WAIT_WORK_ITEM = 5,
  /// `concurrentPerform` waits for its helpers.
  GC_WAIT_APPLY = 6,
  GC_WAIT_ONCE = 7,
  GC_WAIT_OTHER = 8,
};

#define GC_INSIGHT_LABEL 64

/// What a thread does. 256 bytes.
typedef struct gc_insight_thread {
  uint32_t tid;              ///< The kernel's number; 0: the entry is free.
  uint32_t sequence;         ///< Odd while the thread changes what is below it.
  uint32_t role;
  uint32_t state;
  uint64_t since;            ///< When the state began: the counter.
  uint64_t object;           ///< GC_STATE_WAITS: the address of what it waits for.
  uint32_t wait;             ///< The kind of wait.
  uint32_t number;           ///< The number of what it waits for, or 0.
  uint32_t owner;            ///< The thread that held it when the wait began; 0: none, or unknown. In a
                             ///< circle that the library has found: the next thread of the circle, which
                             ///< may be this one. Older libraries do not say that.
  uint32_t timed;            ///< 1: the wait has a deadline.
  uint64_t caller;           ///< Where the program called, if that is known.
  char waits_for[GC_INSIGHT_LABEL];  ///< Label of the queue that it waits for; cut, ends with a zero.
  char inside[GC_INSIGHT_LABEL];     ///< Label of the queue whose item it is inside, innermost; empty: none.
  uint64_t inside_object;    ///< That queue's address.
  // While recording is on, written by the thread without `sequence`:
  uint64_t item_begun;       ///< The counter when the item began that runs now; 0: none.
  uint64_t item_function;    ///< Its function.
  uint32_t item_queue;       ///< Its queue's number.
  uint32_t count;            ///< GC_WAIT_GROUP: members under way when the wait began. GC_WAIT_SEMAPHORE: how many waited.
                             ///< GC_WAIT_QUEUE, GC_WAIT_ITEM_ELSEWHERE: how many bytes behind a queue's address its word lies in
                             ///< the process's memory, see GC_QUEUE_OWNER_MASK; older libraries have 0.
  uint64_t items;            ///< Items that have ended here.
  uint64_t lost;             ///< Records that had no room, of all threads that have had the entry.
  uint64_t waits;            ///< Waits that have begun here, whether recording is on or not. So for the next two.
  uint64_t sleeps;
  uint64_t wakes;            ///< Threads that this one has woken.
} gc_insight_thread;

/// A queue's word: 64 bits in the process's own memory, which change at any time. The lowest 22 bits are the number of the thread
/// that holds the queue; 0: none.
#define GC_QUEUE_OWNER_MASK 0x3fffffu
/// As many bits from here on: how many items of a concurrent queue run, threads in `sync` among them.
#define GC_QUEUE_READERS_SHIFT 22
/// One bit: no thread holds the queue. It has items, and waits for its turn on its target.
#define GC_QUEUE_ON_ITS_WAY_SHIFT 44

enum {
  GC_OBJECT_FREE = 0,
  GC_OBJECT_SERIAL = 1,
  GC_OBJECT_CONCURRENT = 2,
  GC_OBJECT_WORKLOOP = 3,
  GC_OBJECT_MAIN = 4,
  GC_OBJECT_GLOBAL = 5,
  GC_OBJECT_SOURCE = 6,
  GC_OBJECT_TIMER = 7,
  GC_OBJECT_CHANNEL = 8,
  GC_OBJECT_GROUP = 9,
};

enum {
  /// A source, a timer: `cancel` was called. A channel: it was closed.
  GC_OBJECT_CANCELLED = 1,
};

/// What an object that is no queue watches, waits for and has. 80 bytes.
typedef struct gc_insight_state {
  uint64_t handle;           ///< A source: its descriptor, process or signal. A channel: its descriptor, or -1. 32 bits each.
  uint64_t due;              ///< A timer: when it fires next, by its clock, in nanoseconds; all ones: never. A channel: since when a
                             ///< read has waited for its descriptor, the counter; 0: none does. A group: when it was last
                             ///< entered or left, the counter. Older libraries have 0 for these two.
  uint64_t interval;         ///< A timer: nanoseconds; 0: it fires once. A channel: as `due`, of a write.
  uint64_t count;            ///< A group: entered and not left. A channel: operations that have not ended.
  uint64_t bytes;            ///< A channel: bytes to write that have not been written. A timer: its leeway, in nanoseconds.
  uint32_t clock;            ///< A timer: 0 uptime, 1 continuous, 2 wall. A channel: barriers that wait for operations to end.
  uint32_t flags;            ///< GC_OBJECT_CANCELLED.
  char what[32];             ///< What kind of source: "read source"; cut, ends with a zero.
} gc_insight_state;

/// A queue, or something else that has a number. 128 bytes. Entries are used again after the object has gone, but late.
typedef struct gc_insight_object {
  uint32_t sequence;         ///< Odd while the entry changes.
  uint32_t kind;
  uint64_t address;
  uint64_t made;             ///< When it got its number: the counter.
  uint32_t target;           ///< The number of its target queue, where its handlers run; 0: none, or a global queue without one.
  uint16_t qos;              ///< Class of its own: 0x21 user-interactive … 0x09 background; 0: none.
  uint16_t width;            ///< Items at once; 0xFFFF: no limit.
  uint32_t suspensions;      ///< Suspended so often; 0: not.
  uint32_t inactive;         ///< 1: not yet activated.
  uint64_t ended;            ///< When the object went; 0: it lives.
  char label[80];            ///< A queue: cut, ends with a zero. Everything else has a `gc_insight_state` here.
} gc_insight_object;

/// A name of the program's own marks. 64 bytes.
typedef struct gc_insight_name {
  uint32_t length;           ///< 0: the entry is not ready.
  uint32_t hash;
  char text[56];             ///< Cut; no zero at its end if it is full.
} gc_insight_name;

enum {
  /// An item of a queue has run: from `time - length` to `time`. `argument` is the job, `word` the function.
  GC_RECORD_ITEM = 1,
  /// An item was put into a queue: `argument` is the job, `word` the function. The item that it becomes is the first with the
  /// same job that begins afterwards.
  GC_RECORD_SUBMIT = 2,
  /// `sync` has the queue, and its item begins; it has ended. They nest within the thread.
  GC_RECORD_SYNC_BEGIN = 3,
  GC_RECORD_SYNC_END = 4,
  /// The thread has waited in one of the library's calls; `detail` is GC_WAIT_…, `word` the object's address.
  GC_RECORD_WAIT = 5,
  /// A worker has slept. `detail` 1: in the kernel's poll, and so woken by an event or a timer perhaps.
  GC_RECORD_SLEEP = 6,
  /// The thread has woken another one: `argument` is its kernel number, or 0.
  GC_RECORD_WAKE = 7,
  GC_RECORD_WORKER_BEGIN = 8,
  GC_RECORD_WORKER_END = 9,
  GC_RECORD_SUSPEND = 10,
  GC_RECORD_RESUME = 11,
  /// `argument` is the number of the new target.
  GC_RECORD_RETARGET = 12,
  GC_RECORD_FREED = 13,
  /// A timer has fired; `word`: how late, in nanoseconds.
  GC_RECORD_TIMER = 14,
  /// A source's handler is called; `word`: its data.
  GC_RECORD_SOURCE = 15,
  /// A semaphore was signalled, a group was left by its last member; `word` is its address.
  GC_RECORD_SIGNAL = 16,
  GC_RECORD_GROUP_EMPTY = 17,
  /// Workers were added in place of blocked ones: `argument` of them. `detail` 1: they block in the library, 2: the monitor has
  /// found them blocked, 3: their items run long.
  GC_RECORD_COMPENSATE = 18,
  /// The program's own; `queue` is the name's number. A counter's `word` is its value, a `double`.
  GC_RECORD_MARK = 19,
  GC_RECORD_INTERVAL_BEGIN = 20,
  GC_RECORD_INTERVAL_END = 21,
  GC_RECORD_COUNTER = 22,
  /// A channel has moved `word` bytes; `detail` 1: read, 2: written.
  GC_RECORD_TRANSFER = 23,
  /// A thread has run iterations of a `concurrentPerform`: `argument` of them.
  GC_RECORD_APPLY = 24,
  /// Work was stolen from another place: `argument` jobs.
  GC_RECORD_STEAL = 25,
  /// A span of the program's own has ended, on whatever thread; `queue` is the name's number, `argument` the span's own, `word`
  /// that of the span that it is a part of, or 0.
  GC_RECORD_SPAN = 26,
};

/// `length` counts in 1,024 steps of the counter.
#define GC_RECORD_COARSE 0x80u

/// Something that happened. 32 bytes.
typedef struct gc_insight_record {
  uint64_t time;             ///< The counter when it was over.
  uint32_t length;           ///< How long it took, in steps of the counter.
  uint8_t kind;              ///< With GC_RECORD_COARSE, or without.
  uint8_t qos;               ///< The class that the thread runs at.
  uint16_t detail;
  uint32_t queue;            ///< A queue's number, or 0.
  uint32_t argument;
  uint64_t word;
} gc_insight_record;

enum { GC_CHUNK_FREE = 0, GC_CHUNK_WRITTEN = 1, GC_CHUNK_FULL = 2 };

#define GC_INSIGHT_CHUNK_SIZE 65536u
#define GC_INSIGHT_CHUNK_HEAD 64u
#define GC_INSIGHT_RECORDS 2046u

/// Records of one thread, in their order. It stands for itself: it says whose it is and by which clock.
///
/// A thread makes a free chunk its own (FREE to WRITTEN, by exchange), fills it (`count` says how many records are whole), and lets
/// go of it (FULL) when it is full or the thread ends. A tool that collects reads chunks that are being written as far as
/// `count`, and makes a full one FREE when it has read all of it. Without a tool the thread overwrites its own oldest one.
typedef struct gc_insight_chunk {
  uint32_t state;
  uint32_t count;
  uint64_t number;           ///< Chunks of the process in the order in which they were begun; changes with each use.
  uint32_t tid;
  uint32_t thread;           ///< Index of the thread's entry.
  uint64_t counter;          ///< The two clocks when it was begun.
  uint64_t uptime;
  uint64_t lost;             ///< What the entry says of lost records, when the chunk was begun.
  char name[16];             ///< The thread's.
  gc_insight_record records[GC_INSIGHT_RECORDS];
} gc_insight_chunk;

#if !defined(__cplusplus)
_Static_assert(sizeof(gc_insight_head) <= GC_INSIGHT_WORKERS_OFFSET, "the workers lie behind the head");
_Static_assert(GC_INSIGHT_WORKERS_OFFSET + GC_INSIGHT_WORKERS * sizeof(uint32_t) <= 4096, "and in its page");
_Static_assert(sizeof(gc_insight_thread) == 256, "");
_Static_assert(sizeof(gc_insight_object) == 128, "");
_Static_assert(sizeof(gc_insight_state) == sizeof(((gc_insight_object *)0)->label), "");
_Static_assert(offsetof(gc_insight_object, label) % sizeof(uint64_t) == 0, "");
_Static_assert(sizeof(gc_insight_name) == 64, "");
_Static_assert(sizeof(gc_insight_record) == 32, "");
_Static_assert(GC_INSIGHT_RECORDS == (GC_INSIGHT_CHUNK_SIZE - GC_INSIGHT_CHUNK_HEAD) / sizeof(gc_insight_record), "");
_Static_assert(sizeof(gc_insight_chunk) == GC_INSIGHT_CHUNK_SIZE, "");
#endif

#ifdef __cplusplus
}
#endif
#endif
