// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Runs a scenario again and again, finds a failure, shortens it, and prints it.

#include "core.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ck {

namespace {
double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// MARK: Traps

int capture = -1;

void onSignal(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  if (!isRunning()) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  std::string text = std::string("stopped by signal ") + std::to_string(number);
  if (capture >= 0) {
    char buffer[2048];
    ssize_t count = pread(capture, buffer, sizeof buffer - 1, 0);
    if (count > 0) text += ": " + std::string(buffer, static_cast<size_t>(count));
    while (!text.empty() && text.back() == '\n') text.pop_back();
  }
  fail(text);
}

void catchSignals(bool on) {
  static char stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE}) {
    struct sigaction action = {};
    action.sa_handler = on ? onSignal : SIG_DFL;
    action.sa_flags = on ? SA_ONSTACK | SA_NODEFER : 0;
    sigaction(number, &action, nullptr);
  }
}

/// What the program writes to standard error during a run is part of a failure's message.
struct Capture {
  int saved;
  Capture() {
    fflush(stderr);
    saved = dup(2);
    capture = memfd_create("checker", 0);
    dup2(capture, 2);
  }
  ~Capture() {
    dup2(saved, 2);
    close(saved);
    close(capture);
    capture = -1;
  }
};

// MARK: Tokens: what the answers depend on, then the answers that are not 0, each with how many come before it

std::string number36(uint64_t value) {
  std::string text;
  do text += "0123456789abcdefghijklmnopqrstuvwxyz"[value % 36];
  while (value /= 36);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string tokenOf(const std::vector<uint16_t> &decisions) {
  std::string token = std::string("ck1") + (R->options.sc ? "s" : "w");
  size_t gap = 0;
  for (auto each : decisions) {
    if (each == 0) {
      gap++;
      continue;
    }
    token += "." + number36(gap) + (each == 1 ? "" : "-" + number36(each));
    gap = 0;
  }
  return token;
}

bool readToken(const char *token, std::vector<uint16_t> &script, bool &sc) {
  if (token == nullptr || strncmp(token, "ck1", 3) != 0) return false;
  sc = token[3] == 's';
  const char *at = token + 4;
  while (*at == '.') {
    char *end;
    unsigned long gap = strtoul(at + 1, &end, 36), value = 1;
    if (*end == '-') value = strtoul(end + 1, &end, 36);
    if (gap > 10000000) return false;
    script.insert(script.end(), gap, 0);
    script.push_back(static_cast<uint16_t>(value));
    at = end;
  }
  return *at == 0;
}

// MARK: Runs

struct Body {
  void (*body)(void *);
  void *context;
};

void runOnce(const Body &body) {
  resetFibres();
  resetMemory();
  resetPlain();
  R->points = R->contested = 0;
  R->unusual = R->preemptions = 0;
  R->outcome = Outcome::running;
  R->message.clear();
  R->redundant = false;
  R->sleep = 0;
  R->nextNode = -1;
  R->steps.clear();
  R->depth = 0;
  R->decisions.clear();
  R->events.clear();
  resetSchedule();
  Fibre &main = startFibre(body.body, body.context);
  resume(main);
}

/// Goes on to the next leaf of the tree. False when there is none.
bool backtrack() {
  while (!R->nodes.empty()) {
    Node &node = R->nodes.back();
    node.done |= bit(node.chosen);
    uint32_t left = (node.isThread ? node.backtrack & ~node.sleep : node.enabled) & ~node.done;
    if (left != 0) {
      node.chosen = __builtin_ctz(left);
      return true;
    }
    R->nodes.pop_back();
  }
  return false;
}

void replay(const Body &body, const std::vector<uint16_t> &script, bool logs) {
  R->strategy = CK_REPLAY;
  R->reduces = false;
  R->script = script;
  R->logs = logs;
  runOnce(body);
  R->logs = false;
}

std::string firstWord(const std::string &text) { return text.substr(0, text.find_first_of(" :")); }

std::vector<uint16_t> trimmed(std::vector<uint16_t> script) {
  while (!script.empty() && script.back() == 0) script.pop_back();
  return script;
}

size_t unusualIn(const std::vector<uint16_t> &script) {
  return static_cast<size_t>(std::count_if(script.begin(), script.end(), [](uint16_t each) { return each != 0; }));
}

/// Takes back one answer after the other, and keeps what still fails in the same way.
std::vector<uint16_t> shrink(const Body &body, std::vector<uint16_t> best, const std::string &kind, double until) {
  bool better = true;
  auto attempt = [&](const std::vector<uint16_t> &script) {
    replay(body, script, false);
    if (R->outcome != Outcome::failed || firstWord(R->message) != kind) return false;
    std::vector<uint16_t> made = trimmed(R->decisions);
    if (unusualIn(made) > unusualIn(best) || (unusualIn(made) == unusualIn(best) && made.size() >= best.size())) return false;
    best = made;
    return true;
  };
  best = trimmed(best);
  while (better && now() < until) {
    better = false;
    for (size_t block = best.size() / 2; block > 1 && now() < until; block /= 2)
      for (size_t i = 0; i < best.size() && now() < until; i += block) {
        std::vector<uint16_t> script = best;
        bool differs = false;
        for (size_t k = i; k < std::min(i + block, script.size()); k++) differs |= script[k] != 0, script[k] = 0;
        if (differs && attempt(trimmed(script))) better = true;
      }
    for (size_t i = best.size(); i-- > 0 && now() < until;) {
      if (i >= best.size() || best[i] == 0) continue;
      std::vector<uint16_t> script = best;
      script[i] = 0;
      if (attempt(trimmed(script))) better = true;
    }
  }
  return best;
}

void drawChanges() {
  uint64_t length = R->length != 0 ? R->length : 50;
  for (int i = 0; i < 16; i++) R->changes[i] = 1 + nextRandom() % length;
}

std::string message, token, tableText;
}  // namespace
}  // namespace ck

using namespace ck;

ck_options ck_default_options(void) {
  ck_options options = {};
  options.strategy = CK_EXHAUSTIVE;
  options.depth = 3;
  options.preemptions = -1;
  options.unusual = 1;
  options.steps = 20000;
  options.seed = 1;
  return options;
}

ck_result ck_explore(const char *, void (*body)(void *), void *context, const ck_options *options) {
  if (R == nullptr) R = new Run();
  R->options = *options;
  R->strategy = options->strategy;
  R->reduces = options->strategy == CK_EXHAUSTIVE && options->preemptions < 0;
  R->random = options->seed;
  R->nodes.clear();
  R->script.clear();
  R->logs = false;
  R->length = 0;
  Body work = {body, context};
  ck_result found = {};
  double begin = now(), end = options->seconds > 0 ? begin + options->seconds : 1e300;
  std::vector<uint16_t> failing;
  {
    Capture capturing;
    catchSignals(true);
    if (options->strategy == CK_REPLAY) {
      std::vector<uint16_t> script;
      if (readToken(options->token, script, R->options.sc)) replay(work, script, false);
      else R->message = "the token cannot be read", R->outcome = Outcome::failed;
      found.runs = 1;
      found.points = R->points;
    } else {
      while (true) {
        if (options->strategy == CK_PCT) drawChanges();
        runOnce(work);
        found.runs++;
        found.points += R->points;
        found.longest = std::max(found.longest, R->points);
        R->length = std::max(R->length, R->contested);
        if (R->outcome == Outcome::failed) break;
        if (options->strategy == CK_EXHAUSTIVE && !backtrack()) {
          found.complete = true;
          break;
        }
        if (options->runs != 0 && found.runs >= options->runs) break;
        if ((found.runs & 31) == 0 && now() > end) break;
        if ((found.runs & 1023) == 0 && ftruncate(capture, 0) == 0) lseek(2, 0, SEEK_SET);
      }
    }
    found.seconds = now() - begin;
    found.failed = R->outcome == Outcome::failed;
    if (found.failed) {
      message = R->message;
      failing = R->decisions;
      if (!options->quiet) {
        if (ftruncate(capture, 0) == 0) lseek(2, 0, SEEK_SET);
        if (options->strategy != CK_REPLAY) failing = shrink(work, failing, firstWord(message), now() + 10);
        replay(work, failing, true);
        if (R->outcome == Outcome::failed) message = R->message;
        else message += " (the replay did not fail: the scenario does not repeat itself)";
      }
    }
    catchSignals(false);
  }
  R->current = &R->fibres[0];
  token = tokenOf(trimmed(failing));
  tableText = found.failed && !options->quiet ? table() : "";
  found.message = message.c_str();
  found.token = token.c_str();
  found.table = tableText.c_str();
  return found;
}
