# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the C library is built for what this machine is not: another processor, another C library. Sourced after embedded.sh.

# What strips libraries, and links programs; what runs these is in dropin.sh.
strip=strip
program_linker=()

# use_target TARGET FOLDER: what is compiled and linked from here on is for it. Installs what that takes. FOLDER is for files in between.
use_target() {
  local processor root=/usr flag headers=()
  processor=$(uname -m) swift_flags=() strip=strip launcher=()
  unset NM QEMU_LD_PREFIX
  case $1 in
    aarch64 | aarch64-musl) use_aarch64 ;;
    musl) ;;
    *) fail "the target is ${1:-not named}, and not aarch64, musl or aarch64-musl" ;;
  esac
  case $1 in
    *musl) use_musl "$2" ;;
    *) headers=(-isystem "$root/include") ;;
  esac
  for flag in "${headers[@]}"; do swift_flags+=(-Xcc "$flag"); done
}

use_aarch64() {
  need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
  processor=aarch64 root=/usr/aarch64-linux-gnu
  need_file "$root/include/features.h" libc6-dev-arm64-cross
  # Of Embedded Swift's standard library there is one for this processor, and that is for no system. The C headers are Linux's.
  swift_flags=(-target aarch64-none-none-elf -Xcc -D__linux__)
  c_compiler=(clang --target=aarch64-linux-gnu)
  libraries=()
  strip=aarch64-linux-gnu-strip
  program_linker=(aarch64-linux-gnu-gcc)
  launcher=(qemu-aarch64)
  export NM=aarch64-linux-gnu-nm QEMU_LD_PREFIX=$root
}

# use_musl FOLDER
use_musl() {
  local kernel=$root/include linker=gcc
  if [ "$processor" = aarch64 ]; then
    unpack_musl "$1/musl"
    root=$1/musl/usr linker=aarch64-linux-gnu-gcc
    export QEMU_LD_PREFIX=$PWD/$1/musl
  else
    need musl-gcc musl-tools
    need_file /usr/include/linux/futex.h linux-libc-dev
  fi
  local library=$root/lib/$processor-linux-musl include=$root/include/$processor-linux-musl
  # The kernel's headers without the other C library's, which lie beside them.
  mkdir -p "$1/kernel"
  ln -sfn "$kernel/linux" "$kernel/asm-generic" "$1/kernel"
  ln -sfn "$(find "$kernel/asm" "$kernel/$processor-linux-gnu/asm" -maxdepth 0 2>/dev/null | head -n 1)" "$1/kernel/asm"
  headers=(-DGRANDCENTRAL_RECORD_BY_CALL -nostdlibinc -isystem "$include" -isystem "$1/kernel")
  c_compiler=(clang "--target=$processor-linux-musl" "${headers[@]}")
  libraries=(-nostdlib "-L${root%usr}lib/$processor-linux-musl" "-L$library" -lc "$("$linker" -print-libgcc-file-name)")
  [ "$linker" = gcc ] || libraries+=("--ld-path=$(command -v aarch64-linux-gnu-ld)")
  # As musl-gcc does, wherever musl lies.
  sed -E "s#/usr/(lib|include)/#$root/\1/#g" "$library/musl-gcc.specs" >"$1/musl-gcc.specs"
  program_linker=("$linker" -specs "$1/musl-gcc.specs" "-L${root%usr}lib/$processor-linux-musl")
}

# unpack_musl FOLDER: Debian has musl for ARM's processors for machines of that kind. It is unpacked here, and not installed.
unpack_musl() {
  local package apt=()
  [ ! -e "$1/lib/ld-musl-aarch64.so.1" ] || return 0
  mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial"
  apt=(apt-get -q -o "APT::Architectures::=$(dpkg --print-architecture)" -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o "Dir::State::Lists=$PWD/$1/apt/lists" -o "Dir::Cache=$PWD/$1/apt")
  "${apt[@]}" update >/dev/null || true
  (cd "$1/apt" && "${apt[@]}" download musl:arm64 musl-dev:arm64 >/dev/null) || fail "there is no musl for aarch64"
  for package in "$1"/apt/*.deb; do dpkg-deb -x "$package" "$1"; done
  rm -r "$1/apt"
}
