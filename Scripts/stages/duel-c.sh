#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the C functions and Swift Concurrency on our libdispatch.so cost no more than on the toolchain's
# Budget: 330

. Scripts/lib.sh

ready_dropin
Scripts/benchmark c --quick --gate --prefix "$DROPIN" | tee "$OUT/duel-c.md"
fact "$(grep -c '≤' "$OUT/duel-c.md") rows, none above its bar"

# E10: the rows in which a thread waits for another, beside two busy processes.
Scripts/benchmark c --quick --gate --neighbours 2 --prefix "$DROPIN" | tee "$OUT/duel-c-neighbours.md"

# The gate can fail: the toolchain's library against itself is above the bars.
if Scripts/benchmark c --quick --rounds 5 --gate --null --prefix "$DROPIN" >"$OUT/duel-c-null.md"; then
  fail "the bars let everything through"
fi
grep -F ', above its bar ' "$OUT/duel-c-null.md" >/dev/null || fail "it was no bar that ended it: $(tail -n 1 "$OUT/duel-c-null.md")"
