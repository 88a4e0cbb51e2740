#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#
# Builds the peers of the duel that this machine has the tools for, into Benchmarks/.build/peers. What is missing is
# said and left out; only a peer that does not compile is an error.
#
#   Benchmarks/peers/build.sh             with what is there
#   Benchmarks/peers/build.sh --install   gets the tools first, with apt-get

set -euo pipefail
cd "$(dirname "$0")"
support=$PWD/../Sources/BenchSupport
output=$PWD/../.build/peers
crates=/usr/share/cargo/registry
mkdir -p "$output/build"
failures=0

case "${1:-}" in
  '') ;;
  --install)
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -q
    packages=(gcc g++ golang-go libtbb-dev librust-rayon-dev librust-crossbeam-channel-dev librust-tokio-dev)
    # A toolchain that is there already need not be the distribution's.
    [ -n "$(command -v cargo)" ] || packages+=(cargo rustc)
    "${as_root[@]}" apt-get install -y -q --no-install-recommends "${packages[@]}"
    ;;
  *)
    echo "usage: build.sh [--install]" >&2
    exit 2
    ;;
esac

# report PEER COMMAND...: says whether the command built the peer. A peer of an earlier build does not stand in for one
# that does not compile.
report() {
  local peer=$1
  shift
  rm -f "${output:?}/$peer"
  if "$@"; then
    echo "$peer: built"
  else
    echo "$peer: does not compile" >&2
    failures=$((failures + 1))
  fi
}

# missing PEER WHY
missing() {
  rm -f "${output:?}/$1"
  echo "$1: left out, $2"
}

# can_compile COMMAND...: whether the program on standard input compiles and links
can_compile() { "$@" - -o "$output/build/probe" >/dev/null 2>&1; }

support_objects() {
  gcc -std=gnu11 -O2 -Wall -Wextra -I"$support/include" -c "$support/BenchSupport.c" -o "$output/build/support.o" &&
    gcc -std=gnu11 -O2 -Wall -Wextra -I"$support/include" -Ic -c c/peer.c -o "$output/build/peer.o"
}

openmp() {
  support_objects &&
    gcc -std=gnu11 -O2 -Wall -Wextra -fopenmp -I"$support/include" -Ic openmp/openmp.c "$output/build/peer.o" \
      "$output/build/support.o" -pthread -o "$output/openmp"
}

tbb() {
  support_objects &&
    g++ -std=c++17 -O2 -Wall -Wextra -I"$support/include" -Ic tbb/tbb.cpp "$output/build/peer.o" \
      "$output/build/support.o" -ltbb -pthread -o "$output/tbb"
}

go_peer() {
  (cd go && GOFLAGS=-mod=mod GOPROXY=off GOCACHE="$output/build/go" go build -o "$output/go" .)
}

# Cargo writes a lock file beside the manifest, so it gets a copy of the sources.
rust_with_crates() {
  rm -rf "${output:?}/build/rust"
  cp -r rust "$output/build/rust"
  # Without -q it would say which old crates it takes.
  cargo build -q --release --offline --features crates --manifest-path "$output/build/rust/Cargo.toml" \
    --target-dir "$output/build/cargo" --config 'source.crates-io.replace-with="distribution"' \
    --config "source.distribution.directory=\"$crates\"" &&
    cp "$output/build/cargo/release/peer" "$output/rust"
}

rust_alone() { rustc --edition 2021 -O rust/src/main.rs -o "$output/rust"; }

has_crates() {
  local crate
  for crate in rayon crossbeam-channel tokio; do
    compgen -G "$crates/$crate-[0-9]*" >/dev/null || return 1
  done
}

if can_compile gcc -fopenmp -x c <<<'#include <omp.h>
int main(void) { return omp_get_max_threads() - 1; }'; then
  report openmp openmp
else
  missing openmp "there is no gcc with OpenMP"
fi
if can_compile g++ -std=c++17 -ltbb -x c++ <<<'#include <oneapi/tbb/task_group.h>
int main() {}'; then
  report tbb tbb
else
  missing tbb "there is no g++ with oneTBB"
fi
if command -v go >/dev/null; then report go go_peer; else missing go "there is no go"; fi
if command -v cargo >/dev/null && has_crates; then
  report rust rust_with_crates
elif command -v rustc >/dev/null; then
  echo "rust: with the standard library only, there are no crates of the distribution"
  report rust rust_alone
else
  missing rust "there is no rustc"
fi
[ "$failures" -eq 0 ]
