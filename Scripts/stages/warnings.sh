#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: everything builds without a warning
# Budget: 480

. Scripts/lib.sh

clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I Sources/CPlatform/include Sources/CPlatform/*.c
clang -fsyntax-only -x c++ -Wall -Wextra -Werror -I Sources/CPlatform/include - <<<'#include "CPlatform.h"'

# check PACKAGE LOG: LOG is of a build of everything, tests too, that began with nothing. Where the caller has made it just now
# this stage need not; else LOG is empty.
check() {
  local log=${2:-$OUT/warnings.log} scratch=$1/.build-warnings target built warnings
  if [ -z "$2" ]; then
    # A module that is up to date prints nothing, so ours are built anew; dependencies stay.
    for target in Sources/*/ Tests/*/; do
      built=$scratch/debug/$(basename "$target").build
      [ ! -d "$built" ] || find "$built" \( -name '*.o' -o -name '*.swiftdeps' -o -name '*.priors' \) -delete
    done
    swift build --package-path "$1" --build-tests --scratch-path "$scratch" -j "$JOBS" 2>&1 | tee "$log"
  fi
  grep -aq 'Build complete' "$log" || fail "no build ended in $log"
  # What follows may be said by tests.
  warnings=$(sed '/Build complete/q' "$log" | grep -aE '(^|[0-9]: )warning:' | grep -av '/checkouts/' | sort -u) || true
  [ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
}
check . "${GC_BUILD_LOG:-}"
check Tool "${GC_TOOL_BUILD_LOG:-}"
