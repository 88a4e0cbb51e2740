#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: random operations on data and transforms (GC_STRESS_SECONDS each), random lives of channels, sources and queues (GC_FUZZ_SECONDS), in release, and with delays at atomic operations
# Budget: 480
# Ahead: swift build -c release --package-path Verification/Perturbed --scratch-path .build-perturbed --product queue-fuzz

. Scripts/lib.sh

export GRANDCENTRAL_TESTS="StressTests DataTests SimulationTests"

# The tests come first: with the stress stage done they are built, and building a program in their folder builds the library anew.
run_tests .build-stress 20 -c release -Xswiftc -enable-testing --filter '^DataTests\..*(randomOperations|randomBytes)'

product="-Xswiftc -enable-testing --scratch-path .build-stress"
# The library as it is late, by chance, at atomic operations.
perturbed="--package-path Verification/Perturbed --scratch-path .build-perturbed"

export GC_FUZZ_SECONDS=${GC_FUZZ_SECONDS:-15}
for build in "$product" "$perturbed"; do
  read -ra options <<<"$build"
  fuzz_sources fuzz -c release "${options[@]}"
done
# Channels, with system calls that go wrong, on the kernel's ring and on helpers. GC_FUZZ_SECONDS for each, GC_FUZZ_SEED
# lives one seed again.
for build in "uring $product" "threads $product" "uring $perturbed"; do
  read -r way options <<<"$build"
  read -ra options <<<"$options"
  GRANDCENTRAL_IO=$way swift run -c release "${options[@]}" -j "$JOBS" channel-fuzz | tee "$OUT/channel-fuzz.log"
  fact "${options[-1]}, $way: $(tail -n 1 "$OUT/channel-fuzz.log")"
done
# Trees of queues, without and with a flight recorder. GC_FUZZ_SEED lives one seed again.
for build in "off $product" "ring $product" "off $perturbed"; do
  read -r recorder options <<<"$build"
  read -ra options <<<"$options"
  GRANDCENTRAL_RECORD=$recorder swift run -c release "${options[@]}" -j "$JOBS" queue-fuzz 2>&1 | tee "$OUT/queue-fuzz.log"
  fact "${options[-1]}, recorder $recorder: $(tail -n 1 "$OUT/queue-fuzz.log")"
done

# Items that wait for lanes and events, where the kernel grants a few threads only: for root, which may become another user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && command -v prlimit >/dev/null; then
  folder=$(mktemp -d)
  cp .build-stress/release/queue-fuzz "$folder"
  chmod -R a+rx "$folder"
  few=(setpriv --reuid $((50000 + $$ % 5000)) --clear-groups prlimit --nproc=12)
  GC_FUZZ_RUSHES=1 GC_FUZZ_BUDGET=512 "${few[@]}" "$folder/queue-fuzz" 2>&1 | tee "$OUT/queue-fuzz.log"
  fact "few threads: $(tail -n 1 "$OUT/queue-fuzz.log")"
  rm -r "$folder"
fi
