// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

/// A class of C++, with what no C header has.
class Counter {
  int sum = 0;

public:
  void add(int number);
  std::string text() const;
};
