// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#include "Counter.hpp"

void Counter::add(int number) { sum += number; }

std::string Counter::text() const { return "sum " + std::to_string(sum); }
