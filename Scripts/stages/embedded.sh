#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the inner layers compile as Embedded Swift into one library
# Budget: 300

. Scripts/lib.sh

folder=$OUT/embedded
mkdir -p "$folder"
mapfile -t files < <(inner_layer_files)
runtime=$(toolchain)/embedded/$(uname -m)-unknown-linux-gnu

# compile OUTPUT FLAGS...
compile() {
  local output=$1
  shift
  swiftc -enable-experimental-feature Embedded -wmo -parse-as-library -O -c -swift-version 6 \
    -module-name GrandCentral -I Sources/CPlatform/include "$@" "${files[@]}" -o "$folder/$output"
}

# Testable first: it keeps what no public declaration reaches yet, so that all of it meets the Embedded rules.
compile everything.o -enable-testing &
compile GrandCentral.o
wait "$!"

clang -std=gnu11 -O2 -fPIC -shared -I Sources/CPlatform/include \
  "$folder/GrandCentral.o" Sources/CPlatform/*.c "$runtime/libswiftUnicodeDataTables.a" \
  -Wl,-z,defs -Wl,--gc-sections -lm -o "$folder/libgrandcentral.so"

needed=$(readelf -d "$folder/libgrandcentral.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | paste -sd ' ')
[[ $needed != *swift* ]] || fail "the library needs a Swift runtime: $needed"
strip -o "$folder/stripped.so" "$folder/libgrandcentral.so"
fact "${#files[@]} files, $(stat -c %s "$folder/stripped.so") bytes stripped, needs $needed"
