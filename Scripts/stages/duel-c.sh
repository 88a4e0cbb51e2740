#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the C functions and Swift Concurrency on our libdispatch.so cost no more than on the toolchain's
# Budget: 330

. Scripts/lib.sh

prefix=$OUT/dropin-prefix
Scripts/build-dropin "$prefix"
Scripts/benchmark c --quick --gate --prefix "$prefix" | tee "$OUT/duel-c.md"
fact "$(grep -c '≤' "$OUT/duel-c.md") rows, none above its bar"

# E10: the rows in which a thread waits for another, beside two busy processes.
Scripts/benchmark c --quick --gate --neighbours 2 --prefix "$prefix" | tee "$OUT/duel-c-neighbours.md"

# The gate can fail: the toolchain's library against itself is above the bars.
if Scripts/benchmark c --quick --rounds 5 --gate --null --prefix "$prefix" >"$OUT/duel-c-null.md"; then
  fail "the bars let everything through"
fi
