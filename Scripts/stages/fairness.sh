#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: work waits behind no other work: spinning, long and blocked items, ping-pongs, bursts of threads; bars for each
# Budget: 420

. Scripts/lib.sh

# E9: what has not started starts while other items spin, compute, block, or submit themselves again.
# E11: no more threads than processors for items that compute; a burst of threads costs nothing afterwards.
export GC_FAIRNESS_RUNS=${GC_FAIRNESS_RUNS:-2}
Scripts/fairness --brief --gate

# The bars can be missed: the toolchain's library is no faster than itself. One figure may be by chance, not all of them.
if Scripts/fairness --null 'interval 1000 us, 2' 'all-to-all, burst' 'all-to-all, answers' >"$OUT/fairness-null.md"; then
  fail "the bars let everything through"
fi
grep -F '; missed: ' "$OUT/fairness-null.md" >/dev/null || fail "it was no bar that ended it: $(tail -n 1 "$OUT/fairness-null.md")"
