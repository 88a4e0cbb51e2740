// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Partial-order reduction for the exhaustive search: of runs that differ only in the order of steps that do not depend on each
/// other, one is enough (source sets with sleep sets, Abdulla and others, 2014).
///
/// A step is what a fibre does from one point to the next. Two steps depend on each other if they are one thread's, or use the
/// same thing and one of them writes: a location, a futex's queue (whatever a ck_point names), SeqCst accesses and fences. When a
/// step is found to depend on an earlier one of another thread and nothing between orders the two, the other order is put
/// on the list of the place before the earlier one.
///
/// Weak memory: a load that could read an old store is such a pair with the newer one; the other order, in which it reads the
/// old store as the newest, is explored anyway. So a load returns an old store only where each newer one comes before the
/// load in the trace by other ways (`isBefore`), or was there already when the old one was put before it: then the old one may
/// hang on the newer one, and there may be no order in which the load comes between. The same goes for a store's place.

#include "core.h"

namespace ck {

namespace {
int indexOf(int thread, uint32_t ordinal) {
  for (size_t i = R->steps.size(); i-- > 0;)
    if (R->steps[i].thread == thread && R->steps[i].ordinal == ordinal) return static_cast<int>(i);
  return -1;
}

/// The step under way depends on `ordinal` of `thread`; if nothing else orders them, puts the other order on the list. `after` is the
/// step's clock with all that it depends on.
void race(int thread, uint32_t ordinal, const Clock &after) {
  Fibre &fibre = self();
  if (ordinal == 0 || thread == fibre.id || fibre.trace.at[thread] >= ordinal) return;
  int first = indexOf(thread, ordinal);
  if (first < 0) return;
  Step &earlier = R->steps[static_cast<size_t>(first)];
  if (earlier.node < 0) return;
  // The steps after it that do not depend on it, then this one: which of their threads could begin?
  uint32_t met = 0, initials = 0, firsts[kThreads];
  auto meet = [&](int who, uint32_t when, const Clock &clock) {
    if (met & bit(who)) return;
    bool isInitial = true;
    for (int i = 1; i <= R->threads; i++)
      if ((met & bit(i)) && clock.at[i] >= firsts[i]) isInitial = false;
    met |= bit(who);
    firsts[who] = when;
    if (isInitial) initials |= bit(who);
  };
  for (size_t i = static_cast<size_t>(first) + 1; i + 1 < R->steps.size(); i++) {
    Step &step = R->steps[i];
    if (step.clock.at[thread] < ordinal) meet(step.thread, step.ordinal, step.clock);
  }
  meet(fibre.id, fibre.trace.at[fibre.id], after);
  Node &node = R->nodes[static_cast<size_t>(earlier.node)];
  if (initials & node.backtrack) return;
  uint32_t able = initials & node.enabled;
  if (able == 0) node.backtrack |= node.enabled;
  else if (able & bit(fibre.id)) node.backtrack |= bit(fibre.id);
  else node.backtrack |= able & -able;
}

bool on() { return R->reduces && !R->redundant && self().id != 0; }

/// The trace clock of a step grows while it goes on.
void note() {
  if (!R->steps.empty() && R->steps.back().thread == self().id) R->steps.back().clock = self().trace;
}
}  // namespace

void beginStep(Fibre &fibre) {
  if (!R->reduces) return;
  fibre.trace.at[fibre.id]++;
  if (R->redundant) return;
  R->steps.push_back({fibre.id, fibre.trace.at[fibre.id], R->nextNode, fibre.trace});
  R->sleep &= ~bit(fibre.id);
  R->nextNode = -1;
}

void wakeSleepers(const void *address, bool writes, bool isPoint) {
  // A fence, or a point that names no object: it may depend on anything.
  if (address == nullptr) R->sleep = 0;
  for (uint32_t rest = R->sleep; rest != 0; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    const Operation &next = R->fibres[i].next;
    bool depends = true;
    switch (next.kind) {
    case Kind::load: depends = writes && next.address == address; break;
    case Kind::store:
    case Kind::update:
    case Kind::compareExchange: depends = next.address == address; break;
    case Kind::point: depends = isPoint || next.address == address; break;
    default: break;
    }
    if (depends) R->sleep &= ~bit(i);
  }
}

void readAccess(Accesses &accesses) {
  if (!on()) return;
  Fibre &fibre = self();
  Clock after = fibre.trace;
  after.join(accesses.writeClock);
  race(accesses.writer, accesses.write, after);
  fibre.trace = after;
  accesses.reads[fibre.id] = fibre.trace.at[fibre.id];
  accesses.readClock.join(fibre.trace);
  note();
}

void writeAccess(Accesses &accesses) {
  if (!on()) return;
  Fibre &fibre = self();
  Clock after = fibre.trace;
  after.join(accesses.writeClock);
  after.join(accesses.readClock);
  race(accesses.writer, accesses.write, after);
  for (int i = 1; i <= R->threads; i++) race(i, accesses.reads[i], after);
  fibre.trace = after;
  accesses.writer = fibre.id;
  accesses.write = fibre.trace.at[fibre.id];
  accesses.writeClock = fibre.trace;
  accesses.readClock.clear();
  memset(accesses.reads, 0, sizeof accesses.reads);
  note();
}

/// Two SeqCst loads of a location depend on each other only where an older store could be read, were it not for the other.
void scReadAccess(Accesses &accesses, bool conflicts) {
  if (!on()) return;
  Fibre &fibre = self();
  if (conflicts) {
    Clock after = fibre.trace;
    after.join(accesses.scReadClock);
    for (int i = 1; i <= R->threads; i++) race(i, accesses.scReads[i], after);
    fibre.trace = after;
  }
  accesses.scReads[fibre.id] = fibre.trace.at[fibre.id];
  accesses.scReadClock.join(fibre.trace);
  note();
}

}  // namespace ck
