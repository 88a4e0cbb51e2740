# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the C library is compiled and linked: the Swift parts as one Embedded module. Sourced after lib.sh.

includes=(-ISources/CPlatform/include -ISources/CDispatch/Glue -ISources/CDispatch/include)
# A program or a plugin with blocks that is linked with -ldispatch alone counts on us for this one.
# There is one for this machine only.
blocks=$(toolchain)/linux/libBlocksRuntime.so

# What swiftc and the linker are told besides, and the compiler of the C parts, which links; cross.sh has others.
swift_flags=()
c_compiler=(clang)
libraries=("-Wl,--no-as-needed" "$blocks")

# compile_embedded FOLDER: makes FOLDER/GrandCentral.o.
compile_embedded() {
  local files begun
  begun=$(now)
  mapfile -t files < <(inner_layer_files)
  # The importer sees blocks and objects as addresses. Functions that look alike stay apart: one body for several of them
  # would call through a pointer.
  swiftc -enable-experimental-feature Embedded -wmo -parse-as-library -O -emit-ir -swift-version 6 \
    -Xfrontend -disable-llvm-merge-functions-pass "${swift_flags[@]}" \
    -module-name GrandCentral -I Sources/CPlatform/include -I Sources/CDispatch/Glue \
    -Xcc -ISources/CDispatch/include -Xcc -DGRANDCENTRAL_BUILDING \
    "${files[@]}" Sources/DispatchABI/*.swift -o "$1/GrandCentral.ll"
  # As Embedded Swift would make the machine code, backtraces would end at it: nothing would say where a frame has its caller. So each
  # function is marked as one whose frames can be followed, and clang makes the code, of the same optimised form.
  sed -i 's/^attributes #[0-9]* = {/& uwtable/' "$1/GrandCentral.ll"
  "${c_compiler[@]}" -Wno-override-module -Wno-unused-command-line-argument -O2 -Xclang -disable-llvm-passes -fPIC -ffunction-sections -fdata-sections \
    -c "$1/GrandCentral.ll" -o "$1/GrandCentral.o"
  touch --date "$begun" "$1/GrandCentral.o"
}

# link_embedded FOLDER NAME RUNPATH: makes FOLDER/NAME of the object there. RUNPATH is where the runtime of blocks lies.
link_embedded() {
  # Only what the interface lists is exported: an Embedded object also defines weak names of the Swift runtime, and an
  # ordinary Swift program that bound to those would not survive it. It is never unloaded: its threads are in it.
  "${c_compiler[@]}" -std=gnu11 -O2 -fPIC -shared -ffunction-sections -fdata-sections -DGRANDCENTRAL_BUILDING "${includes[@]}" \
    "$1/GrandCentral.o" Sources/CPlatform/*.c Sources/CDispatch/*.c \
    -Wl,-soname,"$2" -Wl,--version-script=Sources/CDispatch/libdispatch.map \
    -Wl,-z,defs -Wl,-z,nodelete -Wl,--gc-sections "${libraries[@]}" -Wl,-rpath,"$3" -o "$1/$2"
}
