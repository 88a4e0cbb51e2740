# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the C library is built for what this machine is not: another processor, another C library. Sourced after embedded.sh.

# What strips libraries, and links programs; what runs these is in dropin.sh.
strip=strip
program_linker=()

# use_target TARGET FOLDER: what is compiled and linked from here on is for it. Installs what that takes. FOLDER is for files in between.
use_target() {
  local headers=()
  case $1 in
    aarch64)
      need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
      need_file /usr/aarch64-linux-gnu/include/features.h libc6-dev-arm64-cross
      # Of Embedded Swift's standard library there is one for this processor, and that is for no system. The C headers are Linux's.
      swift_flags=(-target aarch64-none-none-elf -Xcc -D__linux__)
      c_compiler=(clang --target=aarch64-linux-gnu)
      headers=(-isystem /usr/aarch64-linux-gnu/include)
      strip=aarch64-linux-gnu-strip
      export NM=aarch64-linux-gnu-nm
      libraries=()
      program_linker=(aarch64-linux-gnu-gcc)
      launcher=(qemu-aarch64)
      ;;
    musl)
      need musl-gcc musl-tools
      kernel_headers "$2/kernel"
      headers=(-nostdlibinc -isystem "/usr/include/$(uname -m)-linux-musl" -isystem "$2/kernel")
      c_compiler=(clang "--target=$(uname -m)-linux-musl" "${headers[@]}")
      libraries=(-nostdlib "-L/usr/lib/$(uname -m)-linux-musl" -lc "$(gcc -print-libgcc-file-name)")
      strip=strip
      program_linker=(musl-gcc)
      launcher=()
      ;;
    *) fail "the target is ${1:-not named}, and not aarch64 or musl" ;;
  esac
  local flag
  for flag in "${headers[@]}"; do swift_flags+=(-Xcc "$flag"); done
}

# kernel_headers FOLDER: the kernel's headers without the C library's, which lie beside them.
kernel_headers() {
  need_file /usr/include/linux/futex.h linux-libc-dev
  mkdir -p "$1"
  ln -sfn /usr/include/linux "$1/linux"
  ln -sfn /usr/include/asm-generic "$1/asm-generic"
  ln -sfn "/usr/include/$(uname -m)-linux-gnu/asm" "$1/asm"
}
