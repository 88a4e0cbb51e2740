// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// A failure as a table: a column for each thread, a row for each operation.

#include "core.h"

#include <dlfcn.h>
#include <map>
#include <unistd.h>

namespace ck {

namespace {
std::map<const void *, std::string> places;

/// The innermost frame that is not the checker's own.
std::string symbolise(const void *site) {
  Dl_info info;
  if (site == nullptr || dladdr(site, &info) == 0 || info.dli_fname == nullptr) return "?";
  char command[512], line[1024];
  snprintf(command, sizeof command, "llvm-symbolizer --obj=%s %#lx 2>/dev/null", info.dli_fname,
           static_cast<unsigned long>(static_cast<const char *>(site) - static_cast<char *>(info.dli_fbase) - 1));
  FILE *pipe = popen(command, "r");
  if (pipe == nullptr) return "?";
  std::string found = "?";
  for (int i = 0; fgets(line, sizeof line, pipe) != nullptr; i++) {
    std::string text(line);
    size_t colon = text.find(':');
    if (i % 2 == 0 || colon == std::string::npos || text[0] == '?' || found != "?") continue;
    if (text.find("CheckedAtomics/") != std::string::npos || text.find("compiler-generated") != std::string::npos) continue;
    size_t slash = text.rfind('/', colon);
    size_t second = text.find(':', colon + 1);
    found = text.substr(slash + 1, second - slash - 1);
  }
  pclose(pipe);
  return found;
}

std::string valueOf(uint64_t value, int width) {
  char text[32];
  snprintf(text, sizeof text, value < 4096 ? "%lu" : "%#lx", static_cast<unsigned long>(value));
  (void)width;
  return text;
}
}  // namespace

std::string placeOf(const void *site) {
  if (site == nullptr) return "";
  auto found = places.find(site);
  if (found != places.end()) return found->second;
  return places[site] = symbolise(site);
}

std::string orderName(int order) {
  static const char *const names[] = {"rlx", "acq", "rel", "acq-rel", "sc"};
  return names[order];
}

std::string describe(const Event &event) {
  const Operation &operation = event.operation;
  std::string name = event.name ? "a" + std::to_string(event.name) : "", order = orderName(operation.order);
  std::string read = valueOf(event.read, operation.width), written = valueOf(event.written, operation.width);
  std::string behind = event.distance > 0 ? " OLD(" + std::to_string(event.distance) + ")" : "";
  switch (operation.kind) {
  case Kind::load: return name + " is " + read + behind + " " + order;
  case Kind::store: return name + " := " + written + (event.distance > 0 ? " BEFORE(" + std::to_string(event.distance) + ")" : "") + " " + order;
  case Kind::update: return name + ": " + read + " -> " + written + behind + " " + order;
  case Kind::compareExchange:
    if (event.done) return name + ": " + read + " -> " + written + behind + " " + order;
    return name + " is " + read + behind + ", no exchange " + (event.text ? std::string(event.text) + " " : "") +
           orderName(operation.order2);
  case Kind::fence: return "fence " + order;
  case Kind::wake: return "wakes " + std::to_string(event.distance);
  default: return std::string(operation.what ? operation.what : "") + (event.text ? std::string(": ") + event.text : "");
  }
}

std::string table() {
  constexpr int kWide = 46;
  std::string all = "      ";
  for (int i = 1; i <= R->threads; i++) {
    std::string head = "thread " + std::to_string(i) + (R->fibres[i].name[0] ? " " + std::string(R->fibres[i].name) : "");
    head.resize(kWide, ' ');
    all += head;
  }
  all += "\n";
  int row = 0;
  for (auto &event : R->events) {
    std::string text = describe(event), place = placeOf(event.operation.site);
    if (!place.empty()) text += "  " + place;
    char number[16];
    snprintf(number, sizeof number, "%4d  ", ++row);
    all += number + std::string(static_cast<size_t>((event.thread - 1) * kWide), ' ') + text + "\n";
  }
  return all;
}

}  // namespace ck
