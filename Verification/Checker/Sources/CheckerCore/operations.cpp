// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The atomic operations. memory.cpp says what the model is.

#include "core.h"

namespace ck {

void know(Location &location, Message &message) {
  Fibre &fibre = self();
  if (message.known[fibre.id] == 0) message.known[fibre.id] = fibre.view.seen.at[fibre.id];
  uint8_t &repeats = location.repeats[fibre.id];
  repeats = location.lastRead[fibre.id] == message.id ? static_cast<uint8_t>(repeats + (repeats < 200)) : 0;
  location.lastRead[fibre.id] = message.id;
}

namespace {
bool acquires(int order) { return order == CK_ACQUIRE || order >= CK_ACQ_REL; }
bool releases(int order) { return order >= CK_RELEASE; }

/// The store itself is known to the view, or one that a SeqCst access before the view's latest fence has used.
bool isKnown(const Message &message, const View &view) {
  if (message.isBase || (message.sc != 0 && message.sc <= view.fence)) return true;
  for (int i = 0; i <= R->threads; i++)
    if (message.known[i] != 0 && message.known[i] <= view.seen.at[i]) return true;
  return false;
}

/// The oldest store that the operation may read, or come behind.
int floorOf(const Location &location, const View &view, bool sc) {
  int last = static_cast<int>(location.messages.size()) - 1;
  if (R->options.sc) return last;
  for (int i = last; i > 0; i--) {
    const Message &message = location.messages[static_cast<size_t>(i)];
    if (isKnown(message, view) || (sc && (message.sc != 0 || isKnown(message, R->scView)))) return i;
  }
  return 0;
}

/// Whether the store comes before the step under way in the trace without this access.
bool isBefore(const Message &message) {
  return message.isBase || self().trace.at[message.writer] >= message.step || message.writer == self().id;
}

/// Whether a search has to look at store `i`, rather than leave it to a run in which the step under way comes before the newer
/// stores; see reduce.cpp.
bool isToBeSeen(const Location &location, int i) {
  if (!R->reduces || R->redundant) return true;
  const Message &old = location.messages[static_cast<size_t>(i)];
  for (size_t j = static_cast<size_t>(i) + 1; j < location.messages.size(); j++) {
    const Message &newer = location.messages[j];
    if (!isBefore(newer) && old.id < newer.id) return false;
  }
  return true;
}

Location &enter(const Operation &operation, bool writes) {
  point(operation);
  Fibre &fibre = self();
  fibre.view.hb.at[fibre.id]++;
  fibre.view.seen.at[fibre.id]++;
  if (R->sleep != 0) wakeSleepers(operation.address, writes, false);
  Location &location = locate(operation.address, operation.width);
  if (location.dead) fail("use after free, or after destruction: " + placeOf(operation.site));
  if (location.initEvent > fibre.view.hb.at[location.initWriter])
    fail("race: an atomic is used whose initialisation, or a plain write to it, does not come before: " +
         placeOf(operation.site) + ", initialised by thread " + std::to_string(location.initWriter) + " at " +
         placeOf(location.initSite));
  if (R->logs) {
    R->events.push_back({fibre.id, operation, 0, 0, 0, true, location.name, nullptr});
    R->event = &R->events.back();
  }
  return location;
}

void takeOver(const Message &message, int order) {
  if (!message.publishes) return;
  if (acquires(order)) self().view.join(message.released);
  else self().pending.join(message.released);
}

/// Older stores than this one may have been read too often.
int raiseForRepeats(const Location &location, int floor) {
  int me = self().id, last = static_cast<int>(location.messages.size()) - 1;
  if (location.repeats[me] < 2) return floor;
  for (int i = floor; i < last; i++)
    if (location.messages[static_cast<size_t>(i)].id == location.lastRead[me]) return i + 1;
  return floor;
}

void countSC() {
  R->scCount++;
  readAccess(fenceAccesses());
}

void useSC(Message &message) {
  countSC();
  if (message.sc == 0) message.sc = R->scCount;
}

/// Stores that nobody can read any more.
void shorten(Location &location) {
  size_t drop = 0;
  while (drop + 2 < location.messages.size()) {
    const Message &next = location.messages[drop + 1];
    for (int i = 1; i <= R->threads; i++)
      if (R->fibres[i].state != State::ended && !isKnown(next, R->fibres[i].view)) goto done;
    drop++;
  }
done:
  if (drop > 0) location.messages.erase(location.messages.begin(), location.messages.begin() + static_cast<long>(drop));
  location.messages[0].isBase = location.messages[0].isBase || drop > 0;
}

Message &put(Location &location, int at, uint64_t value, int order) {
  Fibre &fibre = self();
  Message message;
  memset(static_cast<void *>(&message), 0, sizeof message);
  message.value = value;
  message.id = ++R->nextMessage;
  message.writer = fibre.id;
  message.step = fibre.trace.at[fibre.id];
  message.known[fibre.id] = fibre.view.seen.at[fibre.id];
  if (releases(order)) {
    message.publishes = true;
    message.released = fibre.view;
  } else if (fibre.hasFenced) {
    message.publishes = true;
    message.released = fibre.fenced;
  }
  if (at == static_cast<int>(location.messages.size()))
    memcpy(reinterpret_cast<void *>(location.address), &value, static_cast<size_t>(location.width));
  location.messages.insert(location.messages.begin() + at, message);
  return location.messages[static_cast<size_t>(at)];
}

uint64_t low(uint64_t value, int width) { return width == 8 ? value : value & ((uint64_t(1) << (8 * width)) - 1); }

uint64_t apply(int operation, uint64_t a, uint64_t b, int width) {
  int shift = 64 - 8 * width;
  int64_t sa = static_cast<int64_t>(a << shift) >> shift, sb = static_cast<int64_t>(b << shift) >> shift;
  switch (operation) {
  case CK_ADD: return a + b;
  case CK_SUB: return a - b;
  case CK_AND: return a & b;
  case CK_OR: return a | b;
  case CK_XOR: return a ^ b;
  case CK_MIN: return sa < sb ? a : b;
  case CK_MAX: return sa > sb ? a : b;
  case CK_UMIN: return a < b ? a : b;
  case CK_UMAX: return a > b ? a : b;
  default: return b;
  }
}

/// The update proper: reads the store at `at`, and comes behind it.
void replace(Location &location, int at, uint64_t value, int order) {
  takeOver(location.messages[static_cast<size_t>(at)], order);
  know(location, location.messages[static_cast<size_t>(at)]);
  bool publishes = location.messages[static_cast<size_t>(at)].publishes;
  if (order == CK_SEQ_CST) useSC(location.messages[static_cast<size_t>(at)]);
  Message &mine = put(location, at + 1, value, order);
  mine.attached = true;
  if (publishes) {
    mine.publishes = true;
    mine.released.join(location.messages[static_cast<size_t>(at)].released);
  }
  if (order == CK_SEQ_CST) mine.sc = R->scCount;
  if (location.messages.size() > 4) shorten(location);
}

bool hasRoom(const Location &location, int at) {
  size_t next = static_cast<size_t>(at) + 1;
  return next == location.messages.size() || !location.messages[next].attached;
}

uint64_t readAt(Location &location, int at, int order) {
  Message &message = location.messages[static_cast<size_t>(at)];
  know(location, message);
  takeOver(message, order);
  // A thread may read its own store before others can: that says nothing of when they do.
  if (order == CK_SEQ_CST) message.writer == self().id && message.sc == 0 ? countSC() : useSC(message);
  if (R->logs) {
    R->event->read = message.value;
    R->event->distance = static_cast<int>(location.messages.size()) - 1 - at;
  }
  return message.value;
}

/// Chooses among the stores `floor...`, the newest first. `fits` says which will do.
template <typename Fits> int choosePlace(const Location &location, int floor, Fits fits) {
  int last = static_cast<int>(location.messages.size()) - 1;
  if (last - floor > 30) floor = last - 30;
  if (floor == last) return last;
  uint32_t mask = 0;
  for (int i = last; i >= floor; i--)
    if (isToBeSeen(location, i) && fits(i)) mask |= bit(last - i);
  if (mask == 0) {
    // All that a reduced search would look at is out of the question.
    for (int i = last; i >= floor && mask == 0; i--)
      if (fits(i)) mask = bit(last - i);
    if (mask == 0) return last;
  }
  return last - chooseData(last - floor + 1, mask, false);
}
}  // namespace
}  // namespace ck

using namespace ck;

#define CK_SITE __builtin_return_address(0)

void ck_atomic_init(void *memory, int width, uint64_t value) {
  memcpy(memory, &value, static_cast<size_t>(width));
  if (!isRunning()) return;
  forgetPlain(reinterpret_cast<uintptr_t>(memory), static_cast<size_t>(width));
  Location *location = findLocation(reinterpret_cast<uintptr_t>(memory), width);
  if (!location) location = &locate(memory, width);
  forget(*location, self().id, self().view.hb.at[self().id] + 1, CK_SITE);
}

void ck_atomic_gone(void *memory, int width) {
  if (!isRunning()) return;
  Location *location = findLocation(reinterpret_cast<uintptr_t>(memory), width);
  if (location) location->dead = true;
}

uint64_t ck_atomic_load(const void *memory, int width, int order) {
  uint64_t value = 0;
  if (!isRunning()) {
    memcpy(&value, memory, static_cast<size_t>(width));
    return value;
  }
  if (watchesSites) order = orderAt(CK_SITE, Kind::load, 0, order);
  Location &location = enter({Kind::load, static_cast<uint8_t>(order), 0, static_cast<uint8_t>(width), memory, CK_SITE, nullptr},
                             false);
  bool sc = order == CK_SEQ_CST;
  int floor = raiseForRepeats(location, floorOf(location, self().view, sc));
  int at = choosePlace(location, floor, [](int) { return true; });
  if (sc && R->reduces) {
    int without = raiseForRepeats(location, floorOf(location, self().view, false));
    while (without < floor && !isToBeSeen(location, without)) without++;
    scReadAccess(location.accesses, without < floor);
  }
  readAccess(location.accesses);
  return readAt(location, at, order);
}

void ck_atomic_store(void *memory, int width, uint64_t value, int order) {
  value = low(value, width);
  if (!isRunning()) {
    memcpy(memory, &value, static_cast<size_t>(width));
    return;
  }
  if (watchesSites) order = orderAt(CK_SITE, Kind::store, 0, order);
  Location &location = enter({Kind::store, static_cast<uint8_t>(order), 0, static_cast<uint8_t>(width), memory, CK_SITE, nullptr},
                             true);
  int floor = floorOf(location, self().view, order == CK_SEQ_CST);
  int at = choosePlace(location, floor, [&](int i) { return hasRoom(location, i); });
  writeAccess(location.accesses);
  if (R->logs) {
    R->event->written = value;
    R->event->distance = static_cast<int>(location.messages.size()) - 1 - at;
  }
  Message &mine = put(location, at + 1, value, order);
  if (order == CK_SEQ_CST) useSC(mine);
  if (location.messages.size() > 4) shorten(location);
}

uint64_t ck_atomic_update(void *memory, int width, int operation, uint64_t operand, int order) {
  uint64_t old = 0;
  operand = low(operand, width);
  if (!isRunning()) {
    memcpy(&old, memory, static_cast<size_t>(width));
    uint64_t value = apply(operation, old, operand, width);
    memcpy(memory, &value, static_cast<size_t>(width));
    return old;
  }
  if (watchesSites) order = orderAt(CK_SITE, Kind::update, 0, order);
  Location &location =
      enter({Kind::update, static_cast<uint8_t>(order), static_cast<uint8_t>(operation), static_cast<uint8_t>(width), memory,
             CK_SITE, nullptr},
            true);
  int floor = floorOf(location, self().view, order == CK_SEQ_CST);
  int at = choosePlace(location, floor, [&](int i) { return hasRoom(location, i); });
  writeAccess(location.accesses);
  old = location.messages[static_cast<size_t>(at)].value;
  uint64_t value = low(apply(operation, old, operand, width), width);
  if (R->logs) {
    R->event->read = old;
    R->event->written = value;
    R->event->distance = static_cast<int>(location.messages.size()) - 1 - at;
  }
  replace(location, at, value, order);
  return old;
}

bool ck_atomic_compare_exchange(void *memory, int width, uint64_t *expected, uint64_t desired, int success, int failure,
                                bool weak) {
  uint64_t wanted = low(*expected, width);
  desired = low(desired, width);
  if (!isRunning()) {
    uint64_t found = 0;
    memcpy(&found, memory, static_cast<size_t>(width));
    *expected = found;
    if (found != wanted) return false;
    memcpy(memory, &desired, static_cast<size_t>(width));
    return true;
  }
  if (watchesSites) {
    success = orderAt(CK_SITE, Kind::compareExchange, 0, success);
    failure = orderAt(CK_SITE, Kind::compareExchange, 1, failure);
  }
  Location &location = enter({Kind::compareExchange, static_cast<uint8_t>(success), static_cast<uint8_t>(failure),
                              static_cast<uint8_t>(width), memory, CK_SITE, nullptr},
                             true);
  int ifDone = floorOf(location, self().view, success == CK_SEQ_CST);
  int ifNot = raiseForRepeats(location, floorOf(location, self().view, failure == CK_SEQ_CST));
  int at = choosePlace(location, ifDone < ifNot ? ifDone : ifNot, [&](int i) {
    bool fits = location.messages[static_cast<size_t>(i)].value == wanted;
    return fits ? i >= ifDone && hasRoom(location, i) : i >= ifNot;
  });
  uint64_t found = location.messages[static_cast<size_t>(at)].value;
  bool done = found == wanted;
  bool spurious = done && weak && !R->options.sc && chooseData(2, 3, true) == 1;
  *expected = found;
  if (!done || spurious) {
    if (failure == CK_SEQ_CST && R->reduces) scReadAccess(location.accesses, true);
    readAccess(location.accesses);
    readAt(location, at, failure);
    if (R->logs) R->event->done = false, R->event->text = spurious ? "spurious" : nullptr;
    return false;
  }
  writeAccess(location.accesses);
  if (R->logs) {
    R->event->read = found;
    R->event->written = desired;
    R->event->distance = static_cast<int>(location.messages.size()) - 1 - at;
  }
  replace(location, at, desired, success);
  return true;
}

static void fence(Fibre &fibre, int order) {
  if (acquires(order)) fibre.view.join(fibre.pending);
  if (order == CK_SEQ_CST) {
    fibre.view.seen.join(R->scView.seen);
    fibre.view.fence = R->scCount;
    R->scView.seen.join(fibre.view.seen);
    R->scView.fence = R->scCount;
  }
  if (releases(order)) {
    fibre.fenced = fibre.view;
    fibre.hasFenced = true;
  }
}

void ck_atomic_fence(int order) {
  if (!isRunning()) return;
  if (watchesSites) order = orderAt(CK_SITE, Kind::fence, 0, order);
  Fibre &fibre = self();
  point({Kind::fence, static_cast<uint8_t>(order), 0, 0, nullptr, CK_SITE, nullptr});
  fibre.view.hb.at[fibre.id]++;
  fibre.view.seen.at[fibre.id]++;
  if (R->sleep != 0) wakeSleepers(nullptr, true, true);
  if (order == CK_SEQ_CST) writeAccess(fenceAccesses());
  if (R->logs) R->events.push_back({fibre.id, fibre.next, 0, 0, 0, true, 0, nullptr});
  fence(fibre, order);
}

void ck_barrier_all(void) {
  if (!isRunning()) return;
  writeAccess(fenceAccesses());
  for (int round = 0; round < 2; round++)
    for (int i = 1; i <= R->threads; i++) fence(R->fibres[i], CK_SEQ_CST);
}
