// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// The explorers: which of the alternatives a run takes.
///
/// Every choice has a usual answer, 0: the fibre goes on, a load reads the newest store, the kernel does what it is asked. A run is
/// told by its answers, and a token lists those that are not 0. The search goes through the tree of answers depth first
/// (`Node`), each run from the beginning; PCT and the random walk draw them; a replay reads them from its token.

#include "core.h"

#include <algorithm>

namespace ck {

uint64_t nextRandom() {
  uint64_t z = (R->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

namespace {
/// The place of a thread among those that are able: the current one first, then those behind it by number.
int placeOf(int thread, uint32_t able, int current) {
  int place = 0;
  for (int i = 0; i < kThreads; i++) {
    int each = (current + i) % kThreads;
    if (!(able & bit(each))) continue;
    if (each == thread) return place;
    place++;
  }
  return 0;
}

int threadAt(int place, uint32_t able, int current) {
  for (int i = 0; i < kThreads; i++) {
    int each = (current + i) % kThreads;
    if ((able & bit(each)) && place-- == 0) return each;
  }
  return -1;
}

int scripted() {
  size_t at = R->decisions.size();
  return at < R->script.size() ? R->script[at] : 0;
}

int lowest(uint32_t mask) { return __builtin_ctz(mask); }

[[noreturn]] void notRepeatable() { fail("the scenario does not repeat itself: the same answers led elsewhere"); }

int searchThread(uint32_t able, int current) {
  if (R->redundant) return current ? current : lowest(able);
  if (R->depth < R->nodes.size()) {
    Node &node = R->nodes[R->depth];
    if (!node.isThread || node.enabled != able) notRepeatable();
    R->nextNode = static_cast<int>(R->depth++);
    R->sleep = R->reduces ? (node.sleep | node.done) & ~bit(node.chosen) : 0;
    return node.chosen;
  }
  uint32_t awake = able & ~R->sleep;
  if (awake == 0) {
    // Everything that could come now has been explored from an earlier place. The run goes on to its end all the same: what it has
    // allocated goes with it.
    R->redundant = true;
    R->sleep = 0;
    return current ? current : lowest(able);
  }
  Node node = {true, able, 0, 0, R->sleep, current && (awake & bit(current)) ? current : lowest(awake)};
  bool mayPreempt = current == 0 || R->preemptions < R->options.preemptions;
  node.backtrack = R->reduces || !mayPreempt ? bit(node.chosen) : able;
  R->nodes.push_back(node);
  R->nextNode = static_cast<int>(R->depth++);
  return node.chosen;
}

int drawThread(uint32_t able, int current) {
  if (R->strategy == CK_RANDOM) {
    if (current && (nextRandom() & 1)) return current;
    int place = static_cast<int>(nextRandom() % static_cast<uint64_t>(__builtin_popcount(able)));
    return threadAt(place, able, current);
  }
  int best = 0;
  for (uint32_t rest = able; rest != 0; rest &= rest - 1) {
    Fibre &fibre = R->fibres[lowest(rest)];
    if (fibre.priority == 0) fibre.priority = 1000 + static_cast<uint32_t>(nextRandom() % 1000000);
    if (best == 0 || fibre.priority > R->fibres[best].priority) best = fibre.id;
  }
  if ((able & (able - 1)) == 0) return best;
  R->contested++;
  for (int i = 0; i + 1 < R->options.depth && i < 16; i++)
    if (R->contested == R->changes[i]) R->fibres[best].priority = static_cast<uint32_t>(i + 1), R->changes[i] = 0;
  return best;
}
}  // namespace

int chooseThread(uint32_t able, int current) {
  if (R->strategy == CK_PCT && current == 0 && (R->paused & bit(self().id))) self().priority = 1;
  bool isChoice = (able & (able - 1)) != 0;
  if (!isChoice && R->sleep == 0 && R->strategy != CK_PCT) {
    R->nextNode = -1;
    return lowest(able);
  }
  int chosen;
  switch (R->strategy) {
  case CK_EXHAUSTIVE: chosen = isChoice || !R->redundant ? searchThread(able, current) : lowest(able); break;
  case CK_REPLAY:
    chosen = isChoice ? threadAt(scripted(), able, current) : lowest(able);
    if (chosen < 0) chosen = threadAt(0, able, current);
    break;
  default: chosen = drawThread(able, current);
  }
  if (isChoice) R->decisions.push_back(static_cast<uint16_t>(placeOf(chosen, able, current)));
  if (current && chosen != current) R->preemptions++;
  return chosen;
}

int chooseData(int total, uint32_t allowed, bool unusual) {
  if (total <= 1) return 0;
  if (unusual && R->unusual >= R->options.unusual && R->strategy != CK_REPLAY) allowed &= 1;
  int chosen = lowest(allowed);
  bool isChoice = (allowed & (allowed - 1)) != 0;
  switch (R->strategy) {
  case CK_EXHAUSTIVE:
    if (!isChoice || R->redundant) break;
    if (R->depth < R->nodes.size()) {
      Node &node = R->nodes[R->depth++];
      if (node.isThread || node.enabled != allowed) notRepeatable();
      chosen = node.chosen;
    } else {
      R->nodes.push_back({false, allowed, 0, 0, 0, chosen});
      R->depth++;
    }
    break;
  case CK_REPLAY: {
    int wanted = scripted();
    if (wanted < 32 && (allowed & (1u << wanted))) chosen = wanted;
    break;
  }
  default:
    if (!isChoice || nextRandom() % (unusual ? 8 : 2) != 0) break;
    do chosen = static_cast<int>(nextRandom() % static_cast<uint64_t>(total));
    while (!(allowed & (1u << chosen)));
  }
  R->decisions.push_back(static_cast<uint16_t>(chosen));
  if (unusual && chosen != 0) R->unusual++;
  return chosen;
}

}  // namespace ck
