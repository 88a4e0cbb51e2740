// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Plain accesses: two of them to the same bytes, by two threads, one a write, race unless one happens before the other.
///
/// For each eight bytes the last write and each thread's last read are kept, with the event of their thread (FastTrack). Only the
/// last writer is kept: a write to the other half by a third thread hides an older one. That loses races, it makes none up.
/// A plain write to an atomic is its initialisation, see memory.cpp.

#include "core.h"

#include <malloc.h>

namespace ck {

namespace {
struct Shadow {
  uintptr_t granule;
  int writer;
  uint8_t written;
  uint32_t event;
  const void *site;
  uint8_t read[kThreads];
  uint32_t events[kThreads];
  const void *sites[kThreads];
};
struct Slot {
  uint32_t generation;
  uint32_t index;
  uintptr_t granule;
};
std::vector<Shadow> shadows;
std::vector<Slot> slots(1 << 12);
uint32_t generation = 1;

struct Range {
  uintptr_t begin, end;
};
std::vector<Range> freed;

Slot &slotOf(uintptr_t granule) {
  size_t mask = slots.size() - 1;
  size_t at = (granule * 0x9E3779B97F4A7C15u) >> 20 & mask;
  while (slots[at].generation == generation && slots[at].granule != granule) at = (at + 1) & mask;
  return slots[at];
}

Shadow &shadowOf(uintptr_t granule) {
  if (shadows.size() * 2 > slots.size()) {
    std::vector<Slot> old(slots.size() * 2);
    old.swap(slots);
    for (auto &slot : old)
      if (slot.generation == generation) slotOf(slot.granule) = slot;
  }
  Slot &slot = slotOf(granule);
  if (slot.generation != generation) {
    slot = {generation, static_cast<uint32_t>(shadows.size()), granule};
    Shadow fresh;
    memset(static_cast<void *>(&fresh), 0, sizeof fresh);
    fresh.granule = granule;
    shadows.push_back(fresh);
    if (!freed.empty() && wasFreed(granule << 3)) fresh.writer = -1, shadows.back().writer = -1;
  }
  return shadows[slot.index];
}

[[noreturn]] void race(const char *mine, const void *site, const char *theirs, int thread, const void *other) {
  fail("race: a plain " + std::string(mine) + " at " + placeOf(site) + ", and a " + theirs + " of thread " +
       std::to_string(thread) + " at " + placeOf(other) + " that does not come before it");
}

uint8_t maskOf(uintptr_t granule, uintptr_t address, uintptr_t end) {
  unsigned from = address > granule << 3 ? static_cast<unsigned>(address & 7) : 0;
  unsigned to = end < (granule + 1) << 3 ? static_cast<unsigned>(end & 7) : 8;
  return static_cast<uint8_t>(((1u << to) - 1) & ~((1u << from) - 1));
}

struct Access {
  uint32_t event;
  const void *site;
  bool writes;
};

void meetLocation(Location &location, void *context) {
  const Access &access = *static_cast<Access *>(context);
  Fibre &fibre = self();
  for (auto &message : location.messages)
    if (!message.isBase && message.writer != 0 && message.known[message.writer] > fibre.view.hb.at[message.writer])
      race(access.writes ? "write of an atomic" : "read of an atomic", access.site, "store", message.writer, nullptr);
  if (access.writes) forget(location, fibre.id, access.event, access.site);
}

void access(uintptr_t address, size_t size, const void *site, bool writes) {
  Fibre &fibre = self();
  if (size == 0 || fibre.ignores != 0 || R->options.sc || isThreadLocal(address)) return;
  uint32_t event = fibre.view.hb.at[fibre.id] + 1;
  Access context = {event, site, writes};
  forEachLocation(address, size, meetLocation, &context);
  if (size > 65536) size = 65536;
  uintptr_t end = address + size;
  for (uintptr_t granule = address >> 3; granule <= (end - 1) >> 3; granule++) {
    Shadow &shadow = shadowOf(granule);
    uint8_t mask = maskOf(granule, address, end);
    if (shadow.writer < 0) fail("use after free: a plain access at " + placeOf(site));
    if ((shadow.written & mask) && shadow.writer != fibre.id && shadow.event > fibre.view.hb.at[shadow.writer])
      race(writes ? "write" : "read", site, "write", shadow.writer, shadow.site);
    if (!writes) {
      shadow.read[fibre.id] = shadow.events[fibre.id] == event ? shadow.read[fibre.id] | mask : mask;
      shadow.events[fibre.id] = event;
      shadow.sites[fibre.id] = site;
      continue;
    }
    for (int i = 1; i <= R->threads; i++) {
      if ((shadow.read[i] & mask) && i != fibre.id && shadow.events[i] > fibre.view.hb.at[i])
        race("write", site, "read", i, shadow.sites[i]);
      shadow.read[i] = static_cast<uint8_t>(shadow.read[i] & ~mask);
    }
    bool adds = shadow.writer == fibre.id && shadow.event == event;
    shadow.written = static_cast<uint8_t>(adds ? shadow.written | mask : mask);
    shadow.writer = fibre.id;
    shadow.event = event;
    shadow.site = site;
  }
}
}  // namespace

void resetPlain() {
  generation++;
  shadows.clear();
  freed.clear();
}

void plainRead(uintptr_t address, size_t size, const void *site) { access(address, size, site, false); }
void plainWrite(uintptr_t address, size_t size, const void *site) { access(address, size, site, true); }

PlainWrite lastPlainWrite(uintptr_t address, int width) {
  Slot &slot = slotOf(address >> 3);
  if (slot.generation != generation) return {0, 0, nullptr};
  const Shadow &shadow = shadows[slot.index];
  uint8_t mask = maskOf(address >> 3, address, address + static_cast<size_t>(width));
  if (shadow.writer <= 0 || (shadow.written & mask) == 0) return {0, 0, nullptr};
  return {shadow.writer, shadow.event, shadow.site};
}

void forgetPlain(uintptr_t address, size_t size) {
  if (size == 0 || shadows.empty()) return;
  auto forgetOne = [](Shadow &shadow) {
    shadow.writer = 0;
    shadow.written = 0;
    memset(shadow.read, 0, sizeof shadow.read);
  };
  uintptr_t first = address >> 3, last = (address + size - 1) >> 3;
  if (last - first > shadows.size()) {
    for (auto &shadow : shadows)
      if (shadow.granule >= first && shadow.granule <= last) forgetOne(shadow);
    return;
  }
  for (uintptr_t granule = first; granule <= last; granule++) {
    Slot &slot = slotOf(granule);
    if (slot.generation == generation) forgetOne(shadows[slot.index]);
  }
}

bool wasFreed(uintptr_t address) {
  for (auto &range : freed)
    if (address >= range.begin && address < range.end) return true;
  return false;
}

static void forgetAll(uintptr_t address, size_t size) {
  forgetPlain(address, size);
  forEachLocation(address, size, [](Location &location, void *) { forget(location, 0, 0, nullptr); }, nullptr);
}

}  // namespace ck

using namespace ck;

void ck_memory_made(void *memory, size_t size) {
  if (!isRunning() || memory == nullptr || size == 0) return;
  uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  for (size_t i = freed.size(); i-- > 0;)
    if (freed[i].begin < address + size && freed[i].end > address) freed.erase(freed.begin() + static_cast<long>(i));
  forgetAll(address, size);
}

void ck_memory_gone(void *memory, size_t size) {
  if (!isRunning() || memory == nullptr) return;
  if (size == 0) size = malloc_usable_size(memory);
  uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  freed.push_back({address, address + size});
  forEachLocation(address, size, [](Location &location, void *) { location.dead = true; }, nullptr);
  forgetPlain(address, size);
  for (auto &shadow : shadows)
    if (shadow.granule << 3 >= address && shadow.granule << 3 < address + size) shadow.writer = -1;
}

void ck_plain_read(const void *address, size_t size) {
  if (isRunning()) plainRead(reinterpret_cast<uintptr_t>(address), size, __builtin_return_address(0));
}

void ck_plain_write(void *address, size_t size) {
  if (isRunning()) plainWrite(reinterpret_cast<uintptr_t>(address), size, __builtin_return_address(0));
}

// Without the machine, whose arena never gives an address twice, the C library's allocator serves Swift's objects: a block that
// comes back is no news of its former owner.
extern "C" void __libc_free(void *memory);
extern "C" __attribute__((weak)) void free(void *memory) {
  if (memory != nullptr && isRunning()) forgetAll(reinterpret_cast<uintptr_t>(memory), malloc_usable_size(memory));
  __libc_free(memory);
}
