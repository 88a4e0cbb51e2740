# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the stages that compare us with the toolchain's Dispatch share. Sourced after lib.sh.

# emit_module SOURCES FOLDER FLAGS...: what a client's compiler sees of the library whose sources lie below SOURCES.
emit_module() {
  local sources=$1 folder=$2
  shift 2
  mkdir -p "$folder"
  find "$sources/GrandCentral" -name '*.swift' | sort >"$folder/files"
  swiftc -swift-version 6 -O -wmo -parse-as-library -module-name GrandCentral -package-name grandcentral \
    -I Sources/CPlatform/include -emit-module -emit-module-path "$folder/GrandCentral.swiftmodule" "$@" "@$folder/files"
}

# build_library FOLDER: libGrandCentral.so and its module, unless they are newer than all sources.
build_library() {
  local folder=$1 file objects=() begun
  [ ! -f "$folder/libGrandCentral.so" ] ||
    [ -n "$(find Sources/GrandCentral Sources/CPlatform -newer "$folder/libGrandCentral.so" -print -quit)" ] || return 0
  begun=$(now)
  mkdir -p "$folder"
  for file in Sources/CPlatform/*.c; do
    objects+=("$folder/$(basename "$file" .c).o")
    clang -std=gnu11 -O2 -fPIC -I Sources/CPlatform/include -c "$file" -o "${objects[-1]}"
  done
  emit_module Sources "$folder" -emit-library -o "$folder/libGrandCentral.so" "${objects[@]}" \
    -Xlinker -soname=libGrandCentral.so
  touch --date "$begun" "$folder/libGrandCentral.so"
}
