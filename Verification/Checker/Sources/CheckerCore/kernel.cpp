// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// What the kernel does to a program's memory.

#include "CheckerHooks.h"
#include "core.h"

using namespace ck;

uint32_t ck_newest32(const void *word) {
  uint32_t value;
  memcpy(&value, word, sizeof value);
  if (!isRunning()) return value;
  Location *location = findLocation(reinterpret_cast<uintptr_t>(word), 4);
  if (!location || location->messages.empty()) return value;
  readAccess(location->accesses);
  know(*location, location->messages.back());
  return value;
}

void ck_kernel_sync(const void *object) {
  if (!isRunning()) return;
  Fibre &fibre = self();
  uintptr_t key = reinterpret_cast<uintptr_t>(object);
  if (R->sleep != 0) wakeSleepers(object, true, true);
  writeAccess(accessesOf(key));
  fibre.view.hb.at[fibre.id]++;
  fibre.view.seen.at[fibre.id]++;
  View &view = kernelView(key);
  fibre.view.join(view);
  view = fibre.view;
}

void ck_kernel_look(const char *what, const void *object) {
  if (!isRunning()) return;
  uintptr_t key = reinterpret_cast<uintptr_t>(object);
  point({Kind::point, 0, 0, 0, object, __builtin_return_address(0), what});
  readAccess(accessesOf(key));
  self().view.join(kernelView(key));
}

bool ck_is_alone(void) { return !isRunning() || R->threads <= 1; }

void ck_reference_dropped(const void *object) {
  if (!isRunning()) return;
  Fibre &fibre = self();
  kernelView(reinterpret_cast<uintptr_t>(object)).join(fibre.view);
  fibre.view.hb.at[fibre.id]++;
  fibre.view.seen.at[fibre.id]++;
}

void ck_object_ends(const void *object) {
  if (!isRunning()) return;
  self().view.join(kernelView(reinterpret_cast<uintptr_t>(object)));
  self().endsObject = true;
}

void ck_kernel_store32(void *word, uint32_t value) {
  if (isRunning()) {
    Location &location = locate(word, 4);
    Message message;
    memset(static_cast<void *>(&message), 0, sizeof message);
    message.value = value;
    message.id = ++R->nextMessage;
    location.messages.push_back(message);
  }
  memcpy(word, &value, sizeof value);
}

uint32_t ck_kernel_take32(const void *word) { return static_cast<uint32_t>(ck_atomic_load(word, 4, CK_ACQUIRE)); }

void ck_kernel_give32(void *word, uint32_t value) { ck_atomic_store(word, 4, value, CK_RELEASE); }
