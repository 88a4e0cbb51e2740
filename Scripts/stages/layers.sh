#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the direction between the library's folders: each beginning of Tools/LayerCheck/order is a module, and a planted violation
# Budget: 420

. Scripts/lib.sh

root=Sources/GrandCentral

# The first type, neither private nor generic, that a folder declares at the top level.
a_type_of() {
  local types depth=9
  [ "$1" = Dispatch ] && depth=1
  types=$(find "$root/$1" -maxdepth $depth -name '*.swift' -print0 | sort -z | xargs -0 sed -nE \
    's/^(public |package |  package )?(final class|struct|enum) ([A-Z][A-Za-z0-9_]*)( *[:{].*)$/\3/p')
  [ -n "$types" ] || fail "no type in $1 to plant a reference to"
  head -n 1 <<<"$types"
}

# What follows runs beside the next one: as many at once as there are processors.
running=0 failed=0
beside() {
  [ "$running" -lt "$JOBS" ] || settle
  "$@" &
  running=$((running + 1))
}
settle() {
  wait -n || failed=1
  running=$((running - 1))
}

# A module that ends with folder OWN names a type of that folder and one of the folder ABOVE. The compiler must know the
# first, not the second, and find nothing else to say.
plant() {
  local own above output errors planted=$OUT/Planted-${1//\//-}.swift
  own=$(a_type_of "$1")
  above=$(a_type_of "$2")
  printf 'enum Planted { static func reference() { _ = (%s.self, %s.self) } }\n' "$own" "$above" >"$planted"
  if output=$(check "$planted"); then fail "the folders up to $1 see $above of $2"; fi
  errors=$(grep -E '^[^ ]+:[0-9]+: error: ' <<<"$output" | sort -u)
  [[ $errors == *"cannot find '$above' in scope"* && $errors != *$'\n'* ]] ||
    fail "the folders up to $1 do not compile by themselves:"$'\n'"$errors"
  fact "up to $1: ${#files[@]} files; $own is there, $above of $2 is not"
}

check() {
  swiftc -typecheck -wmo -swift-version 6 -package-name layers -module-name GrandCentral -I Sources/CPlatform/include "${files[@]}" "$@" 2>&1
}

mapfile -t order < <(grep -vE '^(#|$)' Tools/LayerCheck/order)
files=()
for index in "${!order[@]}"; do
  folder=${order[$index]} depth=9
  [ "$folder" = Dispatch ] && depth=1
  mapfile -t -O "${#files[@]}" files < <(find "$root/$folder" -maxdepth $depth -name '*.swift')
  next=$((index + 1))
  if [ $next -lt ${#order[@]} ]; then beside plant "$folder" "${order[$next]}"; fi
done
all=$(find "$root" -name '*.swift' | wc -l)
[ "${#files[@]}" -eq "$all" ] || fail "Tools/LayerCheck/order has ${#files[@]} of $all files"
whole() {
  local output
  output=$(check) || fail "the library does not compile:"$'\n'"$output"
}
beside whole
while [ "$running" -gt 0 ]; do settle; done
[ "$failed" -eq 0 ] || fail "see above"

python3 Scripts/folder-map --check
