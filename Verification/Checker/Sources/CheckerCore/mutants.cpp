// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// @file
/// Orderings made weaker while a scenario runs, by the place of the operation: nothing is built anew.

#include "core.h"

#include <algorithm>
#include <map>

namespace ck {

bool watchesSites;

namespace {
struct Site {
  const void *address;
  Kind kind;
  int which, order;
  bool operator<(const Site &other) const {
    return address != other.address ? address < other.address : which < other.which;
  }
};
bool records;
std::map<Site, bool> met;
std::vector<Site> listed;
std::vector<const void *> weak;
int weakWhich, weakOrder;
}  // namespace

int orderAt(const void *site, Kind kind, int which, int order) {
  if (records && order != CK_RELAXED) met[{site, kind, which, order}] = true;
  if (which == weakWhich && std::find(weak.begin(), weak.end(), site) != weak.end()) return weakOrder;
  return order;
}

}  // namespace ck

using namespace ck;

void ck_record_sites(bool on) {
  records = on;
  watchesSites = on || !weak.empty();
  if (on) return met.clear();
  listed.clear();
  for (auto &each : met) listed.push_back(each.first);
}

size_t ck_site_count(void) { return listed.size(); }

ck_site ck_site_at(size_t index) {
  const Site &site = listed[index];
  return {site.address, static_cast<int>(site.kind), site.which, site.order};
}

void ck_weaken(const void *const *sites, size_t count, int which, int order) {
  weak.assign(sites, sites + count);
  weakWhich = which;
  weakOrder = order;
  watchesSites = records || count != 0;
}

extern "C" const char __ehdr_start;

const void *ck_image(void) { return &__ehdr_start; }
