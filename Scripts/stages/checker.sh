#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the library's sources on checked atomics and a made-up machine (Verification/Checker): litmus tests of the model, small scenarios to the end, the others with new seeds (GC_CHECKER_SECONDS each)
# Budget: 900
# Ahead: swift build -c release --package-path Verification/Checker --scratch-path .build-checker

. Scripts/lib.sh

seconds=${GC_CHECKER_SECONDS:-1} seed=${GC_CHECKER_SEED:-$(date +%s)}
command -v llvm-symbolizer >/dev/null || fact "llvm-symbolizer is missing: failures name no lines"

swift build -c release --package-path Verification/Checker --scratch-path .build-checker -j "$JOBS"
bin=.build-checker/release

# Is the made-up machine true?
fact "$(Verification/Checker/MachineChecks/compare)"

# Is the memory model right, and the reduction of the search?
"$bin/litmus" | tee "$OUT/checker-litmus.log"
fact "$(grep '^speed' "$OUT/checker-litmus.log")"
"$bin/litmus" --programs 200 "$seed" | tee "$OUT/checker-programs.log"
fact "$(tail -n 1 "$OUT/checker-programs.log")"

# A failure prints its table and its token.
"$bin/checker" all --small | tee "$OUT/checker-small.log"
fact "to the end: $(tail -n 1 "$OUT/checker-small.log")"
fact "walks: GC_CHECKER_SECONDS=$seconds GC_CHECKER_SEED=$seed"
"$bin/checker" all --large --seconds "$seconds" --seed "$seed" | tee "$OUT/checker-large.log"
fact "walks: $(tail -n 1 "$OUT/checker-large.log")"
