#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: everything builds without a warning
# Budget: 480

. Scripts/lib.sh

clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I Sources/CPlatform/include Sources/CPlatform/*.c
clang -fsyntax-only -x c++ -Wall -Wextra -Werror -I Sources/CPlatform/include - <<<'#include "CPlatform.h"'

# check PACKAGE MODULE LOG: LOG is of a build of everything, tests too, that began with nothing. Where the caller has made it just now
# this stage need not; else LOG is empty. MODULE, whose folder has another name, stands for all that must have been compiled.
check() {
  local log=${3:-$OUT/warnings.log} scratch=$1/.build-warnings built warnings
  if [ -z "$3" ]; then
    # A module that is up to date prints nothing, so ours are built anew; dependencies stay.
    for built in "$scratch"/debug/*.build; do
      [ -d "$built" ] || continue
      grep -qsF /checkouts/ "$built/sources" || find "$built" \( -name '*.o' -o -name '*.swiftdeps' -o -name '*.priors' \) -delete
    done
    swift build --package-path "$1" --build-tests --scratch-path "$scratch" -j "$JOBS" 2>&1 | tee "$log"
  fi
  grep -aq 'Build complete' "$log" || fail "no build ended in $log"
  grep -aqwE "(Compiling|Emitting module) $2" "$log" || fail "$2 was not compiled, so that no warning was possible"
  # What follows may be said by tests.
  warnings=$(sed '/Build complete/q' "$log" | grep -aE '(^|[0-9]: )warning:' | grep -av '/checkouts/' | sort -u) || true
  [ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
}
check . word_index "${GC_BUILD_LOG:-}"
check Tool photo_import "${GC_TOOL_BUILD_LOG:-}"

# A planted warning is found, and a module that was up to date.
planted=$OUT/warnings-planted.log
# plant SENTENCE LINE...: the lines before the end of a build.
plant() {
  printf '%s\n' "${@:2}" 'Build complete! (1.00s)' >"$planted"
  if (check . word_index "$planted") 2>"$planted.said"; then fail "a log was planted, and passes: $1"; fi
  grep -F "$1" "$planted.said" >/dev/null || fail "$(cat "$planted.said")"
}
plant '1 warnings' '[1/9] Compiling word_index WordIndex.swift' "$PWD/Package.swift:1:1: warning: planted"
plant 'word_index was not compiled' '[1/9] Compiling GrandCentral Lane.swift'
