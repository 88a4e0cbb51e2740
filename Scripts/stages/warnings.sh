#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: everything builds without a warning
# Budget: 480

. Scripts/lib.sh

clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I Sources/CPlatform/include Sources/CPlatform/*.c
clang -fsyntax-only -x c++ -Wall -Wextra -Werror -I Sources/CPlatform/include - <<<'#include "CPlatform.h"'

# A module that is up to date prints nothing, so ours are built anew; dependencies stay.
for target in Sources/*/ Tests/*/; do
  built=.build-warnings/debug/$(basename "$target").build
  [ ! -d "$built" ] || find "$built" \( -name '*.o' -o -name '*.swiftdeps' -o -name '*.priors' \) -delete
done
log=$OUT/warnings.log
swift build --build-tests --scratch-path .build-warnings -j "$JOBS" 2>&1 | tee "$log"
warnings=$(grep -aE '(^|[0-9]: )warning:' "$log" | grep -av '/checkouts/' | sort -u) || true
[ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
