// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Points, waiting, and virtual time.
///
/// A fibre stands before its next operation while others run: the explorer knows what each would do. A point hands over to
/// the fibre that the explorer names, and returns when the explorer names this one.
///
/// A fibre that pauses gives way until another one has made a step. When all that could run have paused, they run on and see
/// what is newest: stores become visible in finite time.
///
/// Time stands still while a fibre can run; a reading moves it by some nanoseconds. Then it jumps to the next deadline. A
/// deadline may pass early, while others could run: that is an unusual answer of `ck_block`, at once. One that passes a little
/// later needs no answer of its own: it is an early one whose fibre is slow to go on.

#include "core.h"

#include <algorithm>

namespace ck {

namespace {
struct Timed {
  uint64_t id, uptime;
  void (*fire)(void *);
  void *context;
};
std::vector<Timed> timed;
uint64_t nextTimed;
// Plain: parts of the machine register before the constructors of this file have run.
void (*resets[16])(void);
int resetCount;
constexpr uint64_t kBegin = 1000000000;

void makeRunnable(Fibre &fibre, int result) {
  fibre.state = State::runnable;
  fibre.result = result;
  fibre.deadline = UINT64_MAX;
  R->runnable |= bit(fibre.id);
}

void joinAll(Fibre &fibre) {
  for (int i = 1; i <= R->threads; i++) fibre.view.seen.join(R->fibres[i].view.seen);
}

/// Fires what is due.
void pass() {
  for (size_t i = 0; i < timed.size();) {
    if (timed[i].uptime > R->uptime) {
      i++;
      continue;
    }
    Timed due = timed[i];
    timed.erase(timed.begin() + static_cast<long>(i));
    due.fire(due.context);
    i = 0;
  }
  for (int i = 1; i <= R->threads; i++) {
    Fibre &fibre = R->fibres[i];
    if (fibre.state == State::blocked && fibre.deadline <= R->uptime) makeRunnable(fibre, CK_TIMED_OUT);
  }
}

uint64_t nextDeadline() {
  uint64_t next = UINT64_MAX;
  for (auto &each : timed) next = std::min(next, each.uptime);
  for (int i = 1; i <= R->threads; i++)
    if (R->fibres[i].state == State::blocked) next = std::min(next, R->fibres[i].deadline);
  return next;
}

bool isOver() {
  if (R->fibres[1].state != State::ended) return false;
  for (int i = 2; i <= R->threads; i++) {
    Fibre &fibre = R->fibres[i];
    if (fibre.state == State::runnable || (fibre.state == State::blocked && !fibre.resting)) return false;
  }
  return true;
}

/// Goes on with whichever fibre the explorer names.
void reschedule() {
  while (true) {
    uint32_t able = R->runnable & ~R->paused;
    if (able == 0 && R->runnable != 0) {
      able = R->runnable;
      R->paused = 0;
      for (int i = 1; i <= R->threads; i++) R->fibres[i].refresh |= (able & bit(i)) != 0;
    }
    if (able != 0) {
      int current = able & bit(self().id) ? self().id : 0;
      Fibre &next = R->fibres[chooseThread(able, current)];
      resume(next);
      return;
    }
    if (isOver()) {
      R->outcome = Outcome::passed;
      leaveRun();
    }
    uint64_t deadline = nextDeadline();
    if (deadline == UINT64_MAX) fail("deadlock: nothing can run. " + describeWaits());
    if (deadline > R->uptime) R->uptime = deadline;
    pass();
    for (int i = 1; i <= R->threads; i++) R->fibres[i].refresh |= (R->runnable & bit(i)) != 0;
    if (++R->points > R->options.steps) fail("no end: time goes on and the scenario does not. " + describeWaits());
  }
}
}  // namespace

std::string describeWaits() {
  std::string all;
  for (int i = 1; i <= R->threads; i++) {
    Fibre &fibre = R->fibres[i];
    if (fibre.state != State::blocked) continue;
    char line[160];
    snprintf(line, sizeof line, "%sthread %d waits: %s, %#lx%s", all.empty() ? "" : "; ", i, fibre.what,
             static_cast<unsigned long>(fibre.key), fibre.resting ? " (at rest)" : "");
    all += line;
  }
  return all.empty() ? "No thread waits." : all + ".";
}

void point(const Operation &operation) {
  Fibre &fibre = self();
  fibre.next = operation;
  if (++R->points > R->options.steps) fail("no end: the run has more points than allowed. " + describeWaits());
  if (R->strategy != CK_EXHAUSTIVE || (R->runnable & ~R->paused) != bit(fibre.id) || R->sleep != 0) reschedule();
  else R->nextNode = -1;
  if (fibre.refresh) {
    fibre.refresh = false;
    joinAll(fibre);
  }
  R->paused = 0;
  beginStep(fibre);
}

void fail(const std::string &message) {
  if (R->outcome == Outcome::running) {
    R->outcome = Outcome::failed;
    R->message = message;
  }
  leaveRun();
}

void resetSchedule() {
  timed.clear();
  nextTimed = 0;
  R->uptime = kBegin;
  R->waits = 0;
  for (int i = 0; i < resetCount; i++) resets[i]();
}

static uintptr_t joinKey(int thread) { return 0x4a4f494e00000000u + static_cast<uintptr_t>(thread); }

void finishFibre() {
  Fibre &fibre = self();
  fibre.state = State::ended;
  R->runnable &= ~bit(fibre.id);
  for (int i = 1; i <= R->threads; i++) {
    Fibre &other = R->fibres[i];
    if (other.state != State::blocked || other.key != joinKey(fibre.id)) continue;
    makeRunnable(other, CK_WOKEN);
    other.trace.join(fibre.trace);
  }
  reschedule();
  __builtin_unreachable();
}

/// Waits until another fibre has made this one runnable.
int sleepUntilWoken(uintptr_t key, uint64_t deadline, const char *what, const void *site) {
  Fibre &fibre = self();
  fibre.state = State::blocked;
  fibre.key = key;
  fibre.deadline = deadline;
  fibre.what = what;
  fibre.since = ++R->waits;
  R->runnable &= ~bit(fibre.id);
  fibre.next = {Kind::block, 0, 0, 0, nullptr, site, what};
  if (R->logs) R->events.push_back({fibre.id, fibre.next, 0, 0, 0, true, 0, "sleeps"});
  reschedule();
  if (fibre.refresh) {
    fibre.refresh = false;
    joinAll(fibre);
  }
  R->paused = 0;
  beginStep(fibre);
  if (R->logs)
    R->events.push_back({fibre.id, fibre.next, 0, 0, 0, true, 0, fibre.result == CK_TIMED_OUT ? "time is up" : "woken"});
  return fibre.result;
}

}  // namespace ck

using namespace ck;

// MARK: The seam

void ck_point(const char *what, const void *address) {
  if (!isRunning()) return;
  point({Kind::point, 0, 0, 0, address, __builtin_return_address(0), what});
  if (R->sleep != 0) wakeSleepers(address, true, true);
  writeAccess(accessesOf(reinterpret_cast<uintptr_t>(address)));
}

void ck_pause(void) {
  if (!isRunning()) return;
  R->paused |= bit(self().id);
  point({Kind::pause, 0, 0, 0, nullptr, __builtin_return_address(0), "pause"});
}

uint32_t ck_choose(uint32_t count, const char *what) {
  if (!isRunning() || count < 2) return 0;
  uint32_t mask = count >= 32 ? UINT32_MAX : (1u << count) - 1;
  int chosen = chooseData(static_cast<int>(count), mask, true);
  if (R->logs && chosen != 0)
    R->events.push_back({self().id, {Kind::note, 0, 0, 0, nullptr, nullptr, what}, 0, 0, chosen, true, 0, "unusual"});
  return static_cast<uint32_t>(chosen);
}

uint32_t ck_branch(uint32_t count, const char *what) {
  if (!isRunning() || count < 2) return 0;
  int chosen = chooseData(static_cast<int>(count), (1u << count) - 1, false);
  if (R->logs)
    R->events.push_back({self().id, {Kind::note, 0, 0, 0, nullptr, nullptr, what}, 0, 0, chosen, true, 0, chosen == 0 ? "no" : "yes"});
  return static_cast<uint32_t>(chosen);
}

void ck_abandon_others(void) {
  if (!isRunning()) return;
  // It depends on every operation of all others, which the reduction does not know.
  if (R->reduces) fail("a scenario that forks names how many preemptions its search may have");
  Fibre &fibre = self();
  for (int i = 1; i <= R->threads; i++) {
    Fibre &other = R->fibres[i];
    if (i == fibre.id || other.state == State::ended) continue;
    other.state = State::ended;
    fibre.trace.join(other.trace);
    fibre.view.join(other.view);
    fibre.view.hb.at[i]++, fibre.view.seen.at[i]++;  // Its plain accesses after its last operation.
  }
  R->runnable = bit(fibre.id);
  R->paused = 0;
}

ck_thread ck_self(void) { return isRunning() ? static_cast<ck_thread>(self().id) : 0; }

ck_thread ck_spawn(void (*body)(void *), void *argument) {
  if (!isRunning()) return 0;
  Fibre &parent = self();
  parent.view.hb.at[parent.id]++, parent.view.seen.at[parent.id]++;
  Fibre &child = startFibre(body, argument);
  child.view = parent.view;
  child.trace = parent.trace;
  return static_cast<ck_thread>(child.id);
}

void ck_set_name(const char *name) {
  if (isRunning()) snprintf(self().name, sizeof self().name, "%s", name);
}

int ck_block(uintptr_t key, uint64_t deadline, bool spurious, const char *what) {
  if (!isRunning()) return CK_WOKEN;
  Fibre &fibre = self();
  writeAccess(accessesOf(key));
  if (deadline <= R->uptime) return CK_TIMED_OUT;
  int count = 1 + (spurious ? 1 : 0) + (deadline != UINT64_MAX ? 1 : 0);
  int chosen = chooseData(count, (1u << count) - 1, true);
  if (chosen != 0) {
    bool isEarly = chosen == 2 || !spurious;
    if (R->logs)
      R->events.push_back({fibre.id, {Kind::block, 0, 0, 0, nullptr, __builtin_return_address(0), what}, 0, 0, 0, true, 0,
                           isEarly ? "deadline passes" : "spurious"});
    if (!isEarly) return CK_SPURIOUS;
    R->uptime = deadline;
    pass();
    return CK_TIMED_OUT;
  }
  return sleepUntilWoken(key, deadline, what, __builtin_return_address(0));
}

int ck_blocked(uintptr_t key) {
  if (!isRunning()) return 0;
  int count = 0;
  for (int i = 1; i <= R->threads; i++) count += R->fibres[i].state == State::blocked && R->fibres[i].key == key;
  return count;
}

int ck_wake(uintptr_t key, int count) {
  if (!isRunning()) return 0;
  bool byFibre = self().state == State::runnable;
  if (byFibre) writeAccess(accessesOf(key));
  int woken = 0;
  while (woken < count) {
    std::vector<int> waiting;
    for (int i = 1; i <= R->threads; i++)
      if (R->fibres[i].state == State::blocked && R->fibres[i].key == key) waiting.push_back(i);
    if (waiting.empty()) break;
    std::sort(waiting.begin(), waiting.end(), [](int a, int b) { return R->fibres[a].since < R->fibres[b].since; });
    int total = static_cast<int>(waiting.size());
    int who = total > 1 && count - woken < total ? chooseData(total, (1u << total) - 1, true) : 0;
    Fibre &fibre = R->fibres[waiting[static_cast<size_t>(who)]];
    makeRunnable(fibre, CK_WOKEN);
    if (byFibre || self().state == State::ended) fibre.trace.join(self().trace);
    woken++;
  }
  if (R->logs && byFibre && woken > 0)
    R->events.push_back({self().id, {Kind::wake, 0, 0, 0, nullptr, __builtin_return_address(0), "wakes"}, 0, 0, woken, true,
                         0, nullptr});
  return woken;
}

uint64_t ck_uptime(void) {
  if (!isRunning()) return kBegin;
  return R->uptime += 10;
}

uint64_t ck_at(uint64_t uptime, void (*fire)(void *), void *context) {
  timed.push_back({++nextTimed, uptime, fire, context});
  return nextTimed;
}

void ck_cancel_event(uint64_t id) {
  for (size_t i = 0; i < timed.size(); i++)
    if (timed[i].id == id) return static_cast<void>(timed.erase(timed.begin() + static_cast<long>(i)));
}

void ck_set_resting(bool resting) {
  if (isRunning()) self().resting = resting;
}

void ck_fail(const char *line) {
  if (isRunning()) fail(line);
  fprintf(stderr, "checker: %s\n", line);
  abort();
}

void ck_on_reset(void (*reset)(void)) {
  if (resetCount == 16) abort();
  resets[resetCount++] = reset;
}

void ck_join(ck_thread thread) {
  if (!isRunning()) return;
  Fibre &other = R->fibres[thread];
  while (other.state != State::ended)
    sleepUntilWoken(joinKey(static_cast<int>(thread)), UINT64_MAX, "the end of a thread", __builtin_return_address(0));
  self().trace.join(other.trace);
  self().view.join(other.view);
  self().view.hb.at[other.id]++, self().view.seen.at[other.id]++;  // Its plain accesses after its last operation.
}

void ck_note(const char *text) {
  if (isRunning() && R->logs)
    R->events.push_back({self().id, {Kind::note, 0, 0, 0, nullptr, nullptr, text}, 0, 0, 0, true, 0, nullptr});
}
