#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: a Swift 6 package that sends every public type across isolation domains builds without a warning, and runs
# Budget: 420

. Scripts/lib.sh

# X3: this stage, with the package that it builds, is the clause's proof.
package=Tests/Programs/Client
log=$OUT/client.log
# What is up to date prints nothing.
find "$package/.build/debug/client.build" -name '*.o' -delete 2>/dev/null || true
swift build --package-path "$package" --product client -j "$JOBS" 2>&1 | tee "$log"
warnings=$(grep -aE '(^|[0-9]: )warning:' "$log" | grep -av '/checkouts/' | sort -u) || true
[ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
if grep -rE '@preconcurrency|@unchecked|nonisolated\(unsafe\)' "$package/Sources"; then
  fail "the client needs what it should not"
fi

# The types of a collection or an option set that no program names.
implied=" Element Failure Index Indices SubSequence Regions DispatchSourceMachReceive mach_port_t "
missing='' count=0
types=$(grep -rhoE '^ *public (final )?(class|struct|enum|protocol|typealias) [A-Za-z_]+' Sources/GrandCentral |
  grep -vE '(class|typealias) (func|var)$' | sed 's/.* //' | sort -u)
for type in $types; do
  count=$((count + 1))
  [[ $implied == *" $type "* ]] || grep -rqw "$type" "$package/Sources" || missing+=" $type"
done
[ -z "$missing" ] || fail "public types that the client does not use:$missing"
fact "$count public types; $("$package/.build/debug/client")"
