# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the stages share. Sourced from the repository's root.

set -euo pipefail

export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
JOBS=${GC_JOBS:-$(nproc)}
OUT=.build-check
mkdir -p "$OUT"

# Where the drop-in lies on which several stages run programs.
# shellcheck disable=SC2034 # For the scripts that call.
DROPIN=$PWD/$OUT/dropin-prefix

# ready_dropin: the drop-in is of the sources as they are.
ready_dropin() { ready_target ''; }

# ready_target TARGET: the same of what is built for another machine; it lies beside. What is newer than all that it is made of is not
# built again.
ready_target() {
  local newer target=$1 to=$DROPIN${1:+-$1} made_of=(Sources Scripts/build-dropin Scripts/embedded.sh Scripts/cross.sh)
  newer=$(find "${made_of[@]}" -newer "$to/lib/libdispatch.so" -print -quit 2>/dev/null || echo all)
  [ -z "$newer" ] || Scripts/build-dropin ${target:+--target "$target"} "$to"
}

# now: for `touch --date`. What is built gets the date at which its build began: a source that was changed meanwhile is newer.
now() { date +@%s.%N; }

# privately COMMAND...: under a umask that gives others nothing, in a tree that looks as if it had been checked out under it: one header does.
privately() (
  header=Sources/CDispatch/include/dispatch/queue.h
  mode=$(stat -c %a "$header")
  trap 'chmod "$mode" "$header"' EXIT
  chmod go= "$header"
  umask 077
  "$@"
)

# A line that the summary shows.
fact() { printf '=> %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# toolchain: the folder with the toolchain's headers, and below linux its libraries. The compiler says which: swiftc may be a link to swiftly.
toolchain() {
  local folder
  folder=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\([^"]*\)".*/\1/p')
  [ -d "$folder/linux" ] || fail "swiftc says that its libraries are in ${folder:-no folder}"
  printf '%s\n' "$folder"
}

# The version of the release: CPlatformVersion.h is its one place.
version() { version_in Sources/CPlatform/include/CPlatformVersion.h; }

# version_in HEADER: it has no suffix such as -rc.1: a version of an .rpm has no hyphen, and dpkg takes 0.2.0-rc.1 for later than 0.2.0.
version_in() {
  local found
  found=$(sed -n 's/^#define GC_VERSION "\(.*\)"$/\1/p' "$1")
  [[ $found =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version of three numbers in ${1##*/}: ${found:-nothing}"
  printf '%s\n' "$found"
}

# Installs a command's package when the command is missing: need COMMAND [PACKAGE].
need() {
  command -v "$1" >/dev/null || install_package "${2:-$1}" "$1"
}

# need_file FILE PACKAGE: the same of a file.
need_file() {
  [ -e "$1" ] || install_package "$2" "$1"
}

# install_package PACKAGE WHAT-IS-MISSING
install_package() {
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo -n)
  command -v apt-get >/dev/null || fail "$2 is missing: install the package $1"
  if [ -z "${GC_APT_UPDATED:-}" ]; then
    "${sudo[@]}" apt-get update -q >/dev/null || true
    export GC_APT_UPDATED=1
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y -q --no-install-recommends "$1" >/dev/null ||
    fail "cannot install $1, which $2 comes from"
}

# ready_clone URL TAG FOLDER: gets it unless it is there, whole or not at all. A network may fail for a moment.
ready_clone() {
  local try
  for try in 1 2 3; do
    [ ! -d "$3" ] || return 0
    rm -rf "$3.part"
    if git clone -q "$1" --branch "$2" "$3.part" 2>&1; then mv "$3.part" "$3"; else sleep "$try"; fi
  done
  [ -d "$3" ] || fail "$1 cannot be had"
}

# build_tool PRODUCT...: builds them in the tool's package; `binaries` is then the folder that they are in.
build_tool() {
  local product
  for product in "$@"; do swift build --package-path Tool --product "$product" -j "$JOBS"; done
  # shellcheck disable=SC2034 # For the scripts that call it.
  binaries=$(swift build --package-path Tool --show-bin-path)
}

# simulated_program NAME FLAG...: compiles one of the C programs that `gcd sim` runs, for the toolchain's library.
simulated_program() {
  local theirs
  theirs=$(toolchain)
  clang -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -I "$theirs" -I "$theirs/Block" "Tests/Programs/Simulated/$1.c" \
    -L "$theirs/linux" "-Wl,-rpath,$theirs/linux" -ldispatch "${@:2}"
}

# first_block FILE LANGUAGE WORD: the first block of code of that language in a page that has the word in it.
first_block() {
  python3 - "$@" <<'END'
import re, sys

file, language, word = sys.argv[1:]
blocks = re.findall(rf"^```{language}\n(.*?)^```$", open(file, encoding="utf-8").read(), re.MULTILINE | re.DOTALL)
found = [block for block in blocks if word in block]
sys.exit(f"error: {file} has no block of {language} with {word}") if not found else print(found[0], end="")
END
}

# Our own files with one of the extensions; build folders and symlinked copies are left out.
source_files() {
  local extension names=()
  for extension in "$@"; do names+=(-o -name "*.$extension"); done
  local roots=()
  for root in Package.swift DropIn Tool Sources Tests Tools Benchmarks Examples Integrations Verification Scripts .ci; do
    [ -e "$root" ] && roots+=("$root")
  done
  find "${roots[@]}" -name '.build*' -prune -o -type f \( "${names[@]:1}" \) -print | sort
}

# Swift files of the layers that compile as Embedded Swift.
inner_layer_files() {
  local root=Sources/GrandCentral layers=()
  for layer in Platform Primitives Engine Lanes Dispatch; do
    [ -d "$root/$layer" ] && layers+=("$root/$layer")
  done
  find "${layers[@]}" -path "$root/Dispatch/Concurrency" -prune -o -name '*.swift' -print | sort
}

# Runs tests in a build folder of their own and wants a summary with at least one test:
# run_tests SCRATCH SECONDS-PER-STRESS-TEST SWIFT-TEST-ARGUMENTS...
# Package.swift reads GRANDCENTRAL_TESTS, the targets of tests that are built.
run_tests() {
  local scratch=$1 log=$OUT/$1.log status=0
  export GC_STRESS_SECONDS=${GC_STRESS_SECONDS:-$2}
  export GC_STRESS_SEED=${GC_STRESS_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
  fact "GC_STRESS_SEED=$GC_STRESS_SEED GC_STRESS_SECONDS=$GC_STRESS_SECONDS"
  shift 2
  swift test --disable-xctest --scratch-path "$scratch" -j "$JOBS" "$@" 2>&1 | tee "$log" || status=$?
  local summary
  summary=$(grep -aoE 'Test run with [0-9]+ tests?.*' "$log" | tail -n 1) || true
  # What failed stands far above the end of the log: as facts it is shown first.
  grep -aE -A 4 '✘ Test .*recorded an issue|(Fatal error|GrandCentral [a-z ]+):|unexpected signal' "$log" |
    head -n 30 | cut -c 1-300 | sed 's/^/=> /' || true
  if grep -aqE '(WARNING|ERROR): [A-Za-z]+Sanitizer' "$log"; then
    grep -aE 'SUMMARY: [A-Za-z]+Sanitizer' "$log" | sort | uniq -c | cut -c 1-300 | sed 's/^/=> /' || true
    grep -aE -m 1 -A 40 '(WARNING|ERROR): [A-Za-z]+Sanitizer' "$log" | cut -c 1-260 | sed 's/^/=> /' || true
    fail "$(grep -acE '(WARNING|ERROR): [A-Za-z]+Sanitizer' "$log") sanitizer reports"
  fi
  [ "$status" -eq 0 ] || fail "swift test ended with $status: ${summary:-no summary}"
  case "$summary" in
    '' | *'with 0 tests'*) fail "no test ran" ;;
  esac
  fact "$summary"
}

# fuzz_sources NAME SWIFT-RUN-ARGUMENTS...: random lives of sources, for GC_FUZZ_SECONDS. A failure names GC_FUZZ_SEED and GC_FUZZ_LANE, which
# begin with that round.
fuzz_sources() {
  local log=$OUT/source-fuzz-$1.log
  shift
  swift run "$@" -j "$JOBS" source-fuzz 2>&1 | tee "$log"
  fact "${*: -1}: $(tail -n 1 "$log")"
}
