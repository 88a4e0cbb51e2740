# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the C library is compiled and linked: the Swift parts as one Embedded module. Sourced after lib.sh.

includes=(-ISources/CPlatform/include -ISources/CDispatch/Glue -ISources/CDispatch/include)
# A program or a plugin with blocks that is linked with -ldispatch alone counts on us for this one.
blocks=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift/linux/libBlocksRuntime.so

# compile_embedded FOLDER: makes FOLDER/GrandCentral.o.
compile_embedded() {
  local files
  mapfile -t files < <(inner_layer_files)
  # The importer sees blocks and objects as addresses. Functions that look alike stay apart: one body for several of them
  # would call through a pointer.
  swiftc -enable-experimental-feature Embedded -wmo -parse-as-library -O -c -swift-version 6 \
    -Xfrontend -function-sections -Xfrontend -disable-llvm-merge-functions-pass \
    -module-name GrandCentral -I Sources/CPlatform/include -I Sources/CDispatch/Glue \
    -Xcc -ISources/CDispatch/include -Xcc -DGRANDCENTRAL_BUILDING \
    "${files[@]}" Sources/DispatchABI/*.swift -o "$1/GrandCentral.o"
}

# link_embedded FOLDER NAME RUNPATH: makes FOLDER/NAME of the object there. RUNPATH is where the runtime of blocks lies.
link_embedded() {
  # Only what the interface lists is exported: an Embedded object also defines weak names of the Swift runtime, and an
  # ordinary Swift program that bound to those would not survive it. It is never unloaded: its threads are in it.
  clang -std=gnu11 -O2 -fPIC -shared -ffunction-sections -fdata-sections -DGRANDCENTRAL_BUILDING "${includes[@]}" \
    "$1/GrandCentral.o" Sources/CPlatform/*.c Sources/CDispatch/*.c \
    -Wl,-soname,"$2" -Wl,--version-script=Sources/CDispatch/libdispatch.map \
    -Wl,-z,defs -Wl,-z,nodelete -Wl,--gc-sections -Wl,--no-as-needed "$blocks" -Wl,-rpath,"$3" -o "$1/$2"
}
