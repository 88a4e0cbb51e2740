#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: a package that takes ours by URL resolves nothing else, builds in every mode without a warning, and stays small
# Budget: 700

. Scripts/lib.sh
. Scripts/compat.sh

package=$PWD/$OUT/client
repository=$PWD/$OUT/client-repository/swift-grand-central
version=$(version)

# --- What is in the tree now, as a repository with a tag. The same tree is the same commit, so SwiftPM takes what it has built.

rm -rf "$repository"
mkdir -p "$repository"
git ls-files -z --cached --others --exclude-standard --deduplicate |
  while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
  tar --null --files-from - --create | tar --extract --directory "$repository"
export GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z
work() { git -C "$repository" -c user.name=stage -c user.email=stage@localhost -c init.defaultBranch=main "$@"; }
work init -q
work add -A
work commit -qm release
work tag "$version"

# What has been built stays; the package itself is as it is in the tree.
mkdir -p "$package"
rm -rf "$package/Sources" "$package/Package.resolved"
cp -r Tests/Programs/Client/Sources "$package/"
# The reader's first program.
mkdir -p "$package/Sources/small"
first_block README.md swift 'import GrandCentral' >"$package/Sources/small/main.swift"
by_path='.package(name: "swift-grand-central", path: "../../..")'
manifest=$(<Tests/Programs/Client/Package.swift)
[[ $manifest == *"$by_path"* ]] || fail "the manifest of the client has no path to replace"
printf '%s\n' "${manifest/"$by_path"/.package(url: \"file://$repository\", exact: \"$version\")}" >"$package/Package.swift"
# The tag may have moved since the last time: what SwiftPM has fetched goes, what it has built stays.
rm -rf "$package/.build/repositories" "$package/.build/checkouts" "$package/.build/workspace-state.json" "$OUT/client-cache"
at=(--package-path "$package" --cache-path "$PWD/$OUT/client-cache")

# --- It resolves ours and nothing else.

swift package "${at[@]}" resolve
resolved() {
  python3 -c 'import json, sys; print(" ".join(pin["identity"] for pin in json.load(open(sys.argv[1]))["pins"]))' "$1"
}
pins=$(resolved "$package/Package.resolved")
[ "$pins" = swift-grand-central ] || fail "a client of the library resolves: $pins"
fact "a client resolves swift-grand-central $version by URL, and nothing besides"

# --- Debug: no warning, in Swift 5 and 6, with Foundation, and with C++.

log=$OUT/client.log
# What is up to date prints nothing.
for target in client small swift5 foundation mainactor asyncmain cxx; do
  find "$package/.build/debug/$target.build" -name '*.o' -delete 2>/dev/null || true
done
options=("${at[@]}" -j "$JOBS")
swift build "${options[@]}" 2>&1 | tee "$log"
warnings=$(grep -aE '(^|[0-9]: )warning:' "$log" | sort -u) || true
[ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
if grep -rE '@preconcurrency|@unchecked|nonisolated\(unsafe\)' "$package/Sources"; then
  fail "the client needs what it should not"
fi

# X3: this stage, with the package that it builds, is the clause's proof.
# The types of a collection or an option set that no program names; and what queues are made of, which is public in name only.
implied=" Lane Element Failure Index Indices SubSequence Regions DispatchSourceMachReceive mach_port_t "
missing='' count=0
types=$(grep -rhoE '^ *public (final )?(class|struct|enum|protocol|typealias) [A-Za-z_]+' Sources/GrandCentral |
  grep -vE '(class|typealias) (func|var)$' | sed 's/.* //' | sort -u)
for type in $types; do
  count=$((count + 1))
  [[ $implied == *" $type "* ]] || grep -rqw "$type" "$package/Sources" || missing+=" $type"
done
[ -z "$missing" ] || fail "public types that the client does not use:$missing"
said=$("$package/.build/debug/client")
fact "$count public types; $said"

# says CONFIGURATION PROGRAM TEXT
says() {
  local output
  output=$(timeout 60 "$package/.build/$1/$2" | sort) || fail "$2 ($1) ended with $?"
  [ "$output" = "$3" ] || fail "$2 ($1) says $output"
}
run_all() {
  says "$1" small $'1 squared is 1\n2 squared is 4\n3 squared is 9\ndone'
  says "$1" swift5 'sum 5050'
  says "$1" foundation '{"sum":5050}'
  says "$1" mainactor 'the main actor runs'
  says "$1" asyncmain $'an item runs\nthe main actor goes on'
}
run_all debug
says debug cxx 'sum 5050'
fact "debug: Swift 5 and 6, with Foundation, with C++"

# A client with library evolution. Swift verifies the client's textual interface too, and finds our C module there by -I alone.
# Swift warns that our library is without, and says nothing else; if ours is with it as well, Swift says nothing.
include=Sources/CPlatform/include
rm -rf "$OUT/evolution"
mkdir -p "$OUT/evolution"
# evolves MODULE FLAGS-AND-SOURCES...: in $said is what the compiler says.
evolves() {
  local status=0
  swiftc -enable-library-evolution -swift-version 6 -parse-as-library -emit-module -module-name "$1" "${@:2}" -I "$include" \
    -emit-module-path "$OUT/evolution/$1.swiftmodule" -emit-module-interface-path "$OUT/evolution/$1.swiftinterface" 2>"$OUT/evolution.log" || status=$?
  said=$(grep -oE '(warning|error): .*' "$OUT/evolution.log" | sort -u) || true
  [ "$status" -eq 0 ] || fail "$1 with library evolution: $status, $said"
}
holder=Tests/Programs/Client/Evolution/Holder.swift
evolves Keeper "$holder" -I "$package/.build/debug/Modules"
[[ $(wc -l <<<"$said")/$said == 1/*"was not compiled with library evolution support"* ]] || fail "a client with library evolution: $said"
fact "with library evolution: ${said#warning: }"
emit_module Sources "$OUT/evolution" -enable-library-evolution \
  -emit-module-interface-path "$OUT/evolution/GrandCentral.swiftinterface"
evolves Keeper "$holder" -I "$OUT/evolution"
[ -z "$said" ] || fail "a client with library evolution on a library with it: $said"
fact "with library evolution in the library too: not a word"

# --- Release, with Swift's library in the program: the processor time of a first build, and what the library adds.

# processor_seconds YARDSTICK... -- COMMAND...: what the command and all that it starts take, in hundredths; and what the yardstick
# takes, in the mean of its runs while the command goes on. So what else the machine does slows both down alike.
processor_seconds() {
  python3 - "$@" <<'END'
import os, subprocess, sys

middle = sys.argv.index("--")
yardstick, command = sys.argv[1:middle], sys.argv[middle + 1:]


processes = []


def start(words):
    # One that is kept is not waited for by the module itself.
    processes.append(subprocess.Popen(words, stdout=sys.stderr))
    return processes[-1].pid


def used(status, usage):
    if status:
        sys.exit(f"a program has ended with {os.waitstatus_to_exitcode(status)}")
    return 100 * (usage.ru_utime + usage.ru_stime)


measured, runs = start(command), []
while True:
    runs.append(used(*os.wait4(start(yardstick), 0)[1:]))
    ended, status, usage = os.wait4(measured, os.WNOHANG)
    if ended:
        break
print(round(used(status, usage)), round(sum(runs) / len(runs)))
END
}
# The compiler on a made-up file says how fast the machine is.
for number in {1..100}; do
  echo "public func f$number(_ a: [Int]) -> [String] { a.filter { \$0 % $number == 1 }.map { \"\\(\$0 + $number)\" }.sorted() }"
done >"$OUT/yardstick.swift"
rm -rf "$package/.build/release" "$package/.build/x86_64-unknown-linux-gnu/release"
static=("${options[@]}" -c release --static-swift-stdlib)
measured=$(
  processor_seconds swiftc -O -wmo -c "$OUT/yardstick.swift" -o "$OUT/yardstick.o" -- \
    swift build "${static[@]}" --product small
)
read -r ours yardstick <<<"$measured"
tenfold=$((10 * ours / yardstick))
fact "a first release build of a client takes $((ours / 100)) s of processor time, $((tenfold / 10)).$((tenfold % 10)) times the yardstick's"
# It is 10 to 17 on a quiet machine, and up to 20 on one that is busy throughout. Twice the work is noticed.
[ "$tenfold" -le 250 ] || fail "a first build of a client takes more than 25 times as long as the yardstick"

# Not the program with C++, whose libraries the toolchain has in no static form.
for product in nothing swift5 foundation mainactor asyncmain; do swift build "${static[@]}" --product "$product"; done
run_all release
size() { strip -o "$OUT/stripped" "$package/.build/release/$1"; stat -c %s "$OUT/stripped"; }
added=$(($(size small) - $(size nothing)))
# Nearly half of it are libraries of the toolchain that a program without us does not need: those of tasks and of Dispatch.
# It grows by whole pages.
[ "$added" -le 2021000 ] || fail "the library adds $added bytes to a program with Swift's library in it"
fact "it adds $added bytes, stripped, to a program with Swift's library in it; what it needs of the toolchain's is counted"

# --- Without the trait `Tasks`: another package, since all packages of a program share one build of the library.

bare=$PWD/$OUT/client-bare
mkdir -p "$bare"
rm -rf "$bare/Sources" "$bare/Package.resolved" "$bare/.build/repositories" "$bare/.build/checkouts" "$bare/.build/workspace-state.json"
mkdir "$bare/Sources"
cp -r "$package/Sources/small" "$package/Sources/asyncmain" "$bare/Sources/"
cat >"$bare/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "bare",
  dependencies: [.package(url: "file://$repository", exact: "$version", traits: [])],
  targets: [
    .executableTarget(name: "small", dependencies: [.product(name: "GrandCentral", package: "swift-grand-central")]),
    .executableTarget(name: "asyncmain", dependencies: [.product(name: "GrandCentral", package: "swift-grand-central")]),
  ]
)
END
swift build --package-path "$bare" --cache-path "$PWD/$OUT/client-cache" -j "$JOBS" -c release --static-swift-stdlib
small=$(size nothing)
package=$bare
says release small $'1 squared is 1\n2 squared is 4\n3 squared is 9\ndone'
# The program has tasks, and the library does not know of them.
says release asyncmain $'an item runs\nthe main actor goes on'
added=$(($(size small) - small))
[ "$added" -le 1091000 ] || fail "without tasks the library adds $added bytes to a program with Swift's library in it"
fact "without tasks it adds $added bytes"
