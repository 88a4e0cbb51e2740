// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the parts of the core share: clocks, fibres, locations, and the run that is under way.
#ifndef CK_CORE_H
#define CK_CORE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "CheckerCore.h"

namespace ck {

/// Threads of a run, numbered from 1.
constexpr int kThreads = 16;

inline uint32_t bit(int thread) { return 1u << thread; }

// MARK: Clocks

struct Clock {
  uint32_t at[kThreads];

  void clear() { memset(at, 0, sizeof at); }
  void join(const Clock &other) {
    for (int i = 0; i < kThreads; i++) at[i] = at[i] > other.at[i] ? at[i] : other.at[i];
  }
};

/// What a thread, or a message, knows. `seen` is at least `hb`: SeqCst fences show stores without ordering plain accesses.
struct View {
  Clock hb;
  Clock seen;
  /// How many SeqCst accesses came before the latest SeqCst fence that is known.
  uint32_t fence;

  void clear() { memset(static_cast<void *>(this), 0, sizeof *this); }
  void join(const View &other) {
    hb.join(other.hb);
    seen.join(other.seen);
    if (other.fence > fence) fence = other.fence;
  }
};

// MARK: Memory

/// One store of a location.
struct Message {
  uint64_t value;
  uint32_t id;
  int writer;
  /// The writer's step in the trace, for the reduction.
  uint32_t step;
  /// From which event on each thread has known it: its writer and its readers; 0 never.
  uint32_t known[kThreads];
  /// The number of the first SeqCst access that wrote or read it; 0 none.
  uint32_t sc;
  /// An update: nothing comes between it and the message before.
  bool attached;
  bool isBase;
  bool publishes;
  View released;
};

/// The last accesses of something that threads share, in the trace: which step depends on which.
struct Accesses {
  int writer;
  uint32_t write;
  uint32_t reads[kThreads];
  uint32_t scReads[kThreads];
  Clock writeClock;
  Clock readClock;
  Clock scReadClock;

  void clear() { memset(static_cast<void *>(this), 0, sizeof *this); }
};

struct Location {
  uintptr_t address;
  int width;
  int next;  // In the same eight bytes; -1 none.
  int initWriter;
  uint32_t initEvent;
  const void *initSite;
  bool dead;
  uint32_t name;
  std::vector<Message> messages;
  Accesses accesses;
  uint32_t lastRead[kThreads];
  uint8_t repeats[kThreads];
};

// MARK: Threads

enum class Kind : uint8_t { none, load, store, update, compareExchange, fence, point, pause, start, block, wake, note, gone };

struct Operation {
  Kind kind;
  uint8_t order;
  uint8_t order2;
  uint8_t width;
  const void *address;
  const void *site;
  const char *what;
};

enum class State : uint8_t { unused, runnable, blocked, ended };

struct Fibre {
  int id;
  State state;
  void *sp;
  char *stack;
  void (*body)(void *);
  void *argument;
  View view;
  View pending;
  View fenced;
  bool hasFenced;
  /// No other thread could run: what this one reads next is up to date.
  bool refresh;
  /// Within deinitialisers, which the reference count orders: the runtime's, unseen.
  int ignores;
  /// A reference was the last one; what its owners have done is known.
  bool endsObject;
  bool resting;
  Operation next;
  uintptr_t key;
  uint64_t deadline;
  uint64_t since;
  int result;
  const char *what;
  Clock trace;
  uint32_t priority;
  char name[16];
  char local[512];
};

// MARK: The trace

struct Step {
  int thread;
  uint32_t ordinal;
  int node;
  Clock clock;
};

struct Event {
  int thread;
  Operation operation;
  uint64_t read, written;
  /// How many newer stores there were; for a store, how many it went before.
  int distance;
  bool done;
  uint32_t name;
  const char *text;
};

/// A place in the tree of all runs.
struct Node {
  bool isThread;
  uint32_t enabled, done, backtrack, sleep;
  int chosen;
};

// MARK: The run

enum class Outcome : uint8_t { running, passed, failed };

struct Run {
  ck_options options;
  Fibre fibres[kThreads];
  Fibre *current;
  uint32_t runnable, paused;
  int threads;
  uint64_t points, uptime, waits;
  /// Points at which several threads could go on: where PCT changes priorities.
  uint64_t contested;
  uint32_t scCount, nextMessage, nextName;
  View scView;
  int unusual, preemptions;
  Outcome outcome;
  std::string message;

  // The explorer's.
  int strategy;
  bool reduces, redundant;
  uint32_t sleep;
  int nextNode;
  std::vector<Step> steps;
  std::vector<Node> nodes;
  size_t depth;
  std::vector<uint16_t> decisions, script;
  uint64_t random;
  uint64_t changes[16];
  uint64_t length;

  bool logs;
  std::vector<Event> events;
  Event *event;
};

extern Run *R;

inline Fibre &self() { return *R->current; }
inline bool isRunning() { return R != nullptr && R->current != nullptr && R->current->id != 0; }

// fibre.cpp
void resume(Fibre &to);
/// Whether every thread has the memory for itself (ck_thread_local).
bool isThreadLocal(uintptr_t address);
[[noreturn]] void leaveRun();
Fibre &startFibre(void (*body)(void *), void *argument);
void resetFibres();

// schedule.cpp
void point(const Operation &operation);
[[noreturn]] void fail(const std::string &message);
void resetSchedule();
void finishFibre();
std::string describeWaits();

// explore.cpp
int chooseThread(uint32_t able, int current);
/// One of `total` alternatives, of which `allowed` are worth a run; 0 is the usual one.
int chooseData(int total, uint32_t allowed, bool unusual);
uint64_t nextRandom();

// reduce.cpp
void beginStep(Fibre &fibre);
void readAccess(Accesses &accesses);
void writeAccess(Accesses &accesses);
void scReadAccess(Accesses &accesses, bool conflicts);
void wakeSleepers(const void *address, bool writes, bool isPoint);

// memory.cpp
void resetMemory();
Location *findLocation(uintptr_t address, int width);
/// Something that is no memory, by a number: a futex's queue, a descriptor.
Accesses &accessesOf(uintptr_t key);
Accesses &fenceAccesses();
/// What the lock of a thing of the kernel carries.
View &kernelView(uintptr_t key);
Location &locate(const void *memory, int width);
void forget(Location &location, int writer, uint32_t event, const void *site);
void forEachLocation(uintptr_t address, size_t size, void (*body)(Location &, void *), void *context);

// operations.cpp
/// The thread has read the store, or made it.
void know(Location &location, Message &message);

// mutants.cpp
extern bool watchesSites;
/// The ordering that the operation at `site` has: its own, or a weaker one while it is a mutant. `which`: 1 is an exchange's on failure.
int orderAt(const void *site, Kind kind, int which, int order);

// plain.cpp
void resetPlain();
void plainRead(uintptr_t address, size_t size, const void *site);
void plainWrite(uintptr_t address, size_t size, const void *site);
void forgetPlain(uintptr_t address, size_t size);
/// The last plain write to one of these bytes: what an atomic there begins with. Its writer is 0 if there was none.
struct PlainWrite {
  int writer;
  uint32_t event;
  const void *site;
};
PlainWrite lastPlainWrite(uintptr_t address, int width);
bool wasFreed(uintptr_t address);
std::string placeOf(const void *site);

// report.cpp
std::string table();
std::string orderName(int order);

}  // namespace ck
#endif
