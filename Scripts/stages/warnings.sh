#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: everything builds without a warning
# Budget: 480

. Scripts/lib.sh

clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I Sources/CPlatform/include Sources/CPlatform/*.c
clang -fsyntax-only -x c++ -Wall -Wextra -Werror -I Sources/CPlatform/include - <<<'#include "CPlatform.h"'

# GC_BUILD_LOG names the log of a build of everything, tests too, that began with nothing: the caller has made it just now, and this
# stage need not.
log=${GC_BUILD_LOG:-$OUT/warnings.log}
if [ -z "${GC_BUILD_LOG:-}" ]; then
  # A module that is up to date prints nothing, so ours are built anew; dependencies stay.
  for target in Sources/*/ Tests/*/; do
    built=.build-warnings/debug/$(basename "$target").build
    [ ! -d "$built" ] || find "$built" \( -name '*.o' -o -name '*.swiftdeps' -o -name '*.priors' \) -delete
  done
  swift build --build-tests --scratch-path .build-warnings -j "$JOBS" 2>&1 | tee "$log"
fi
grep -aq 'Build complete' "$log" || fail "no build ended in $log"
# What follows may be said by tests.
warnings=$(sed '/Build complete/q' "$log" | grep -aE '(^|[0-9]: )warning:' | grep -av '/checkouts/' | sort -u) || true
[ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
