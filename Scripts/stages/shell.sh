#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the scripts themselves, by shellcheck; a check that is told to end leaves no stage behind; swiftly's toolchain is found
# Budget: 120

. Scripts/lib.sh

need shellcheck
shellcheck --source-path=. -x Scripts/check Scripts/lib.sh Scripts/embedded.sh Scripts/build-dropin Scripts/release Scripts/benchmark Scripts/fairness Scripts/site Scripts/archive.sh Scripts/stages/*.sh .ci/run
fact "$(find Scripts/stages -name '*.sh' | wc -l) stages"

# A check of one stage, which would go on for a minute.
trial=$OUT/check-trial
rm -rf "$trial"
mkdir -p "$trial/Scripts/stages"
mkfifo "$trial/begun"
cp Scripts/check "$trial/Scripts/"
# shellcheck disable=SC2016 # For the stage.
printf '# Budget: 90\necho "$$" >begun\nsleep 60\n' >"$trial/Scripts/stages/words.sh"
"$trial/Scripts/check" words >"$trial/said" 2>&1 &
check=$!
stage=$(timeout 60 cat "$trial/begun") || fail "the check has not begun: $(cat "$trial/said")"
kill "$check"
wait "$check" || true
timeout 30 tail --pid "$stage" --follow /dev/null || fail "a check that has been told to end leaves its stage behind"

# The toolchain is where the compiler says. Here `swiftc` is a link to a program in another place, as swiftly's is.
mkdir -p "$OUT/swiftly/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(type -P swiftc)" >"$OUT/swiftly/swiftly"
chmod +x "$OUT/swiftly/swiftly"
ln -sf ../swiftly "$OUT/swiftly/bin/swiftc"
found=$(toolchain)
(
  PATH=$PWD/$OUT/swiftly/bin:$PATH
  [ "$(toolchain)" = "$found" ] || fail "behind swiftly the toolchain is in $(toolchain)"
  [ "$(PYTHONPATH=Scripts python3 -c 'import toolchain; print(toolchain.toolchain())')" = "$found" ] || fail "Python finds another toolchain"
)
if git grep -nE 'command -[v] swiftc|which\([^)]swiftc' -- Scripts Benchmarks Examples Integrations .ci; then fail "that is swiftly's folder: toolchain in lib.sh"; fi
fact "the toolchain: $found"
