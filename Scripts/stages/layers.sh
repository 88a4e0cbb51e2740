#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the direction of the layers, by Tools/LayerCheck and planted violations
# Budget: 420

. Scripts/lib.sh

package=Tools/LayerCheck
swift build --package-path "$package" -j "$JOBS"

# A layer compiles with a file that names a type of its own topmost folder, and does not compile with one that
# names a type of the folder above: plant LAYER OWN ABOVE.
plant() {
  local layer=$1 own above file=$OUT/Planted.swift
  own=$(a_type_of "$2")
  above=$(a_type_of "$3")
  mapfile -t files < <(find -L "$package/Sources/$layer" -name '*.swift')
  typecheck() {
    printf 'enum Planted { static func reference() { _ = %s.self } }\n' "$1" >"$file"
    swiftc -typecheck -swift-version 6 -module-name "$layer" -I Sources/CPlatform/include "${files[@]}" "$file" 2>&1
  }
  local output
  output=$(typecheck "$own") || fail "$layer does not see its own $own:"$'\n'"$output"
  if output=$(typecheck "$above"); then fail "$layer sees $above of $3"; fi
  grep -F "cannot find '$above' in scope" <<<"$output" >/dev/null || fail "$layer fails for another reason:"$'\n'"$output"
  fact "$layer: $own of $2 compiles, $above of $3 does not"
}

# The first type, neither private nor generic, that a folder declares at the top level.
a_type_of() {
  local types
  types=$(find "Sources/GrandCentral/$1" -name '*.swift' -print0 | sort -z | xargs -0 sed -nE \
    's/^(public |package )?(final class|struct|enum) ([A-Z][A-Za-z0-9_]*)( *[:{].*)$/\3/p')
  [ -n "$types" ] || fail "no type in $1 to plant a reference to"
  head -n 1 <<<"$types"
}

plant L1 Platform Primitives
plant L2 Primitives Engine
plant L3 Engine Dispatch/Time
plant L3Time Dispatch/Time Dispatch/Queues
