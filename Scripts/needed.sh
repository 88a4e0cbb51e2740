# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the packages of a release depend on: what has the libraries that its files need. Sourced after lib.sh.

# needed_of TREE: the libraries that files in the tree need, and that are not in it.
needed_of() {
  local library
  find "$1" -type f \( -path '*/bin/gcd' -o -name '*.so*' \) -exec readelf -d {} + |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u |
    while read -r library; do [ -n "$(find "$1" -name "$library")" ] || printf '%s\n' "$library"; done
}

# packages_of SYSTEM TREE: the packages that have them, each behind a comma. That of the C library is left out: it has a version besides.
packages_of() {
  local library needed packages=()
  needed=$(needed_of "$2")
  for library in $needed; do
    case $1:$library in
      *:ld-linux-*.so.* | *:libc.so.6 | *:libm.so.6 | *:libdl.so.2 | *:libpthread.so.0 | *:librt.so.1) ;;
      debian:libgcc_s.so.1) packages+=(libgcc-s1) ;;
      debian:libstdc++.so.6) packages+=(libstdc++6) ;;
      red-hat:libgcc_s.so.1) packages+=(libgcc) ;;
      red-hat:libstdc++.so.6) packages+=(libstdc++) ;;
      *) fail "$library is needed, and Scripts/needed.sh names no package of $1 that has it" ;;
    esac
  done
  [ "${#packages[@]}" -eq 0 ] || printf ', %s' "${packages[@]}"
}
