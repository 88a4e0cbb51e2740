// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The memory model: C11 as Swift has it, by views.
///
/// A location is the list of its stores in the order of modification. An operation of a thread reads one of them, or puts one
/// in, at any place that the rules leave open; which one is a choice of the explorer.
///
///   coherence      A thread does not read, or write before, a store that is older than one that it knows. It knows what it has read
///                  and written, and what other threads knew at the releases that it has acquired.
///   happens-before A releasing store, or a store after a releasing fence, carries its thread's view; an acquiring load, or a load
///                  before an acquiring fence, takes it over. An update hands on what it has read (release sequences as
///                  in C++20: through updates only).
///   atomicity      An update reads the store that it comes behind; nothing is put in between.
///   SeqCst         The single order is the order in which the operations run. A SeqCst load reads no store that is older than one that
///                  a SeqCst operation has written, or another thread's has read, before, or that was known at an earlier SeqCst
///                  fence; a SeqCst store comes behind all these. That a thread has read its own store counts for nothing: x86
///                  gives it out of the thread's buffer, before others see it (as in RC11; C++20's words are stronger). A SeqCst fence takes over what was known at earlier ones, and whatever SeqCst accesses
///                  came before it have written or read. It orders no plain accesses, as in C11.
///   beginning      What initialises an atomic is a plain write: it must happen before every other use (a finding otherwise).
///
/// Left out:
///   – A load never reads a store of the future (no cycles of program order and reads-from: RC11, as Java and OCaml).
///   – The single order of SeqCst operations agrees with the order in which operations run, also where only a relaxed load tells it.
///     C11 asks for agreement with happens-before only. So behaviours are missing in which a SeqCst store becomes visible after a later
///     relaxed store of the same thread has been read (Arm allows some). There are none on x86.
///   – A thread reads the same outdated store of a location at most three times in a row: stores become visible in finite time.
///   – Atomic operations of different widths on the same bytes.

#include "core.h"

#include <unordered_map>

namespace ck {

namespace {
constexpr uintptr_t kNoMemory = uintptr_t(1) << 63;

std::vector<Location *> pool;
size_t used;
struct Slot {
  uint32_t generation;
  int first;
  uintptr_t granule;
};
std::vector<Slot> slots(1 << 12);
uint32_t generation = 1;
uint32_t slotsUsed;
Accesses fences;
std::unordered_map<uintptr_t, View> kernelViews;

Slot &slotOf(uintptr_t granule) {
  size_t mask = slots.size() - 1;
  size_t at = (granule * 0x9E3779B97F4A7C15u) >> 20 & mask;
  while (slots[at].generation == generation && slots[at].granule != granule) at = (at + 1) & mask;
  return slots[at];
}

void grow() {
  std::vector<Slot> old(slots.size() * 2);
  old.swap(slots);
  for (auto &slot : old)
    if (slot.generation == generation) slotOf(slot.granule) = slot;
}

Location &make(uintptr_t address, int width) {
  if (slotsUsed * 2 > slots.size()) grow();
  if (used == pool.size()) pool.push_back(new Location());
  int index = static_cast<int>(used++);
  Location &location = *pool[static_cast<size_t>(index)];
  location.address = address;
  location.width = width;
  location.initWriter = 0;
  location.initEvent = 0;
  location.initSite = nullptr;
  location.dead = false;
  location.name = 0;
  location.messages.clear();
  location.accesses.clear();
  memset(location.lastRead, 0, sizeof location.lastRead);
  memset(location.repeats, 0, sizeof location.repeats);
  Slot &slot = slotOf(address >> 3);
  if (slot.generation != generation) {
    slot = {generation, -1, address >> 3};
    slotsUsed++;
  }
  location.next = slot.first;
  slot.first = index;
  return location;
}
}  // namespace

void resetMemory() {
  generation++;
  used = 0;
  slotsUsed = 0;
  fences.clear();
  kernelViews.clear();
  R->scView.clear();
  R->scCount = 0;
  R->nextMessage = 0;
  R->nextName = 0;
}

Location *findLocation(uintptr_t address, int width) {
  Slot &slot = slotOf(address >> 3);
  if (slot.generation != generation) return nullptr;
  for (int i = slot.first; i >= 0; i = pool[static_cast<size_t>(i)]->next) {
    Location &location = *pool[static_cast<size_t>(i)];
    if (width == 0 || (location.address == address && location.width == width)) return &location;
  }
  return nullptr;
}

Accesses &accessesOf(uintptr_t key) {
  Location *found = findLocation(key | kNoMemory, 8);
  return (found ? *found : make(key | kNoMemory, 8)).accesses;
}

View &kernelView(uintptr_t key) { return kernelViews[key]; }

Accesses &fenceAccesses() { return fences; }

/// Whether the newest store is what the memory holds. Otherwise something else lies there now: the compiler may move a structure that
/// one thread alone has, at its end to the stack for example, and tells nobody.
static bool isThere(const Location &location, const void *memory) {
  if (location.dead || location.address >= kNoMemory) return true;
  return memcmp(&location.messages.back().value, memory, static_cast<size_t>(location.width)) == 0;
}

Location &locate(const void *memory, int width) {
  uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  Location *found = findLocation(address, width);
  if (found && !found->messages.empty()) {
    if (isThere(*found, memory)) return *found;
    forget(*found, 0, 0, nullptr);
  }
  Location &location = found ? *found : make(address, width);
  if (!found && wasFreed(address)) location.dead = true;
  if (!found && address < kNoMemory) {
    PlainWrite write = lastPlainWrite(address, width);
    location.initWriter = write.writer;
    location.initEvent = write.event;
    location.initSite = write.site;
  }
  Message base;
  memset(static_cast<void *>(&base), 0, sizeof base);
  memcpy(&base.value, memory, static_cast<size_t>(width));
  base.isBase = true;
  base.id = ++R->nextMessage;
  location.messages.push_back(base);
  if (!location.name) location.name = ++R->nextName;
  return location;
}

/// The memory has another owner, or a plain write has gone over it.
void forget(Location &location, int writer, uint32_t event, const void *site) {
  location.messages.clear();
  location.initWriter = writer;
  location.initEvent = event;
  location.initSite = site;
  location.dead = false;
  memset(location.lastRead, 0, sizeof location.lastRead);
}

void forEachLocation(uintptr_t address, size_t size, void (*body)(Location &, void *), void *context) {
  uintptr_t end = address + size;
  if (size / 8 > used) {
    for (size_t i = 0; i < used; i++)
      if (pool[i]->address >= address && pool[i]->address < end) body(*pool[i], context);
    return;
  }
  for (uintptr_t granule = address >> 3; granule <= (end - 1) >> 3; granule++) {
    Slot &slot = slotOf(granule);
    if (slot.generation != generation) continue;
    for (int i = slot.first; i >= 0; i = pool[static_cast<size_t>(i)]->next) {
      Location &each = *pool[static_cast<size_t>(i)];
      if (each.address < end && each.address + static_cast<uintptr_t>(each.width) > address) body(each, context);
    }
  }
}

}  // namespace ck
