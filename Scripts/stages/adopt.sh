#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: gcd adopt gives a module our names, mends what its page says, moves OpenCombine to us with its own tests passing, and undoes it
# Budget: 420

. Scripts/lib.sh

folder=$OUT/adopt
mkdir -p "$folder"
# A package in a folder goes by the folder's name.
ln -sfn "$(pwd)" "$folder/swift-grand-central"
build_tool gcd
tool=$binaries/gcd

# --- Every name, in a module that imports Foundation and Dispatch.

module=$folder/Module
rm -rf "$module"
mkdir -p "$module/Sources/Module"
echo >"$module/Sources/Module/Empty.swift"
cat >"$module/Package.swift" <<'END'
// swift-tools-version: 6.0
import PackageDescription
let package = Package(name: "Module", targets: [.target(name: "Module")])
END
both="import Foundation"$'\n'"import Dispatch"

# Without ours imported: what the file of names gives. Public, the names are also in the module's interface.
cat >"$folder/Uses.swift" <<END
$both
let ours: [Any.Type] = [DispatchQueue.self, DispatchTime.self, DispatchGroup.self, DispatchIO.self]
let theirs: Dispatch.DispatchQueue? = OperationQueue().underlyingQueue
let key = DispatchSpecificKey<Int>()
func later(_ time: DispatchTime, _ wall: DispatchWallTime) -> (DispatchTime, DispatchWallTime) {
  (time + 1 + .seconds(1) - 0.5 - .milliseconds(2), wall + 1 + .seconds(1) - 0.5 - .milliseconds(2))
}
func work(_ queue: DispatchQueue) {
  dispatchPrecondition(condition: .onQueue(.main))
  dispatchPrecondition(condition: .notOnQueue(queue))
  queue.asyncAfter(deadline: .now() + .seconds(1), qos: .utility) {}
  queue.asyncAfter(wallDeadline: .now() + 0.5) {}
  DispatchQueue.concurrentPerform(iterations: 2) { _ in }
  let timer: any DispatchSourceTimer = DispatchSource.makeTimerSource(queue: queue)
  timer.schedule(deadline: .now() + 1, repeating: .seconds(1))
  timer.setEventHandler(handler: DispatchWorkItem { dispatchMain() })
  let group = DispatchGroup()
  group.notify(queue: .main) { _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 1) == .success }
}
END
# With ours imported as well: whatever either library has is still one thing.
{
  printf '%s\nimport GrandCentral\n' "$both"
  number=0
  types=$(grep -rhoE '^public (final )?(class|struct|enum|protocol|typealias) [A-Za-z_]+' Sources/GrandCentral |
    sed 's/.* //' | sort -u)
  for type in $types; do
    number=$((number + 1))
    echo "typealias N$number = $type"
  done
  sed -n '/^func/,$p' "$folder/Uses.swift" | sed 's/func later/func later2/; s/func work/func work2/'
} >"$folder/Names.swift"
printf '%s\nextension DispatchQueue { public struct Options { public var group: DispatchGroup? } }\n' "$both" \
  >"$folder/Interface.swift"
# A program that imports the module sees Dispatch's names, unless the module's are public.
printf '%s\nimport Module\nfunc same(_ queue: DispatchQueue, _ time: DispatchTime) -> Dispatch.DispatchQueue { queue }\n' \
  "$both" >"$folder/Client.swift"

include=Sources/CPlatform/include
compile() {
  swiftc -module-name "$1" -I "$binaries/Modules" -I "$include" -I "$folder" -Xcc "-fmodule-map-file=$include/module.modulemap" \
    -warnings-as-errors "${@:2}"
}
ambiguous() { grep -qE "ambiguous" <<<"$1"; }
output=$(compile Module -typecheck "$folder/Names.swift" 2>&1) && fail "the names are not ambiguous without gcd adopt"
ambiguous "$output" || fail "without gcd adopt it fails for another reason:"$'\n'"$output"
"$tool" adopt --package-path "$module" && fail "what is only shown must not count as done"
rm -rf "$folder/mends"
mkdir "$folder/mends"
for access in '' --public; do
  "$tool" adopt --package-path "$module" --yes $access >/dev/null
  cp "$module/Sources/Module/GrandCentral+Names.swift" "$folder/mends/adopt$access.swift"
  files=("$module"/Sources/Module/*.swift "$folder/Uses.swift" "$folder/Names.swift")
  [ -z "$access" ] || files+=("$folder/Interface.swift")
  for mode in 5 6; do
    compile Module -swift-version "$mode" -parse-as-library -emit-module -emit-module-path "$folder/Module.swiftmodule" \
      "${files[@]}"
    if output=$(compile Client -swift-version "$mode" -typecheck "$folder/Client.swift" 2>&1); then
      [ -z "$access" ] || fail "public names do not leave the module"
    else
      [ -n "$access" ] || fail "names leave the module:"$'\n'"$output"
      ambiguous "$output" || fail "the client of public names fails for another reason:"$'\n'"$output"
    fi
  done
done
fact "$number names and their operators compile with Foundation and Dispatch imported, in Swift 5 and 6"

# --- What the compiler says, and the mend: each line of the page's table. Planted: a message, a mend that is another, and one that mends nothing.

page=Sources/GrandCentral/GrandCentral.docc/MovingFromDispatch.md
proofs=Tests/Programs/Compat/Mends
mends() { Scripts/mends.py "$1" "$2" "$folder/mends" -I "$binaries/Modules" -Xcc "-fmodule-map-file=$include/module.modulemap"; }
mends "$page" "$proofs"
cp -r "$proofs" "$folder/mends/planted"
sed -i 's/#if MENDED/#if PLANTED/' "$folder/mends/planted/OnlyOurs.swift"
# shellcheck disable=SC2016 # No expansion is meant.
sed '/^| `property/s/property/planted/; /^| `stored property/s/`@unchecked/`@planted/' "$page" >"$folder/mends/planted.md"
if mends "$folder/mends/planted.md" "$folder/mends/planted" 2>"$folder/mends/log"; then fail "wrong mends were planted, and not found"; fi
for found in 'says: planted cannot' 'page does not list: property' 'StandIn.swift: the page.s mend is' 'OnlyOurs.swift: the mend leaves'; do
  grep -q "$found" "$folder/mends/log" || fail "planted, and not found: $found"$'\n'"$(<"$folder/mends/log")"
done

# --- A real package.

package=$folder/OpenCombine
ready_clone https://github.com/OpenCombine/OpenCombine 0.14.0 "$package"
git -C "$package" reset -q --hard 0.14.0
git -C "$package" clean -fdq
python3 - "$package/Package.swift" <<'END'
import sys

path = sys.argv[1]
text = open(path).read()
product = '.product(name: "GrandCentral", package: "swift-grand-central")'
dependencies = ',\n            dependencies: [\n'
settings = '            swiftSettings: [\n                .unsafeFlags'
for old, new in [
    ('    targets: [\n        .target(', '    dependencies: [.package(path: "../swift-grand-central")],\n    targets: [\n        .target('),
    ('"OpenCombineDispatch", dependencies: [', f'"OpenCombineDispatch", dependencies: [{product}, '),
    (f'"OpenCombineFoundation"{dependencies}', f'"OpenCombineFoundation"{dependencies}{product},\n'),
    (f'"OpenCombineTests"{dependencies}', f'"OpenCombineTests"{dependencies}{product},\n'),
    # It overrides methods that Foundation declares in extensions, which no compiler of today takes, with either library.
    (settings, f'            exclude: ["FoundationTests/NotificationCenterTests.swift"],\n{settings}'),
]:
    if text.count(old) != 1:
        sys.exit(f"the manifest has {text.count(old)} times what is to be changed: {old!r}")
    text = text.replace(old, new)
open(path, "w").write(text)
END
# Overrides of what Foundation declares have Foundation's types, which are those of the toolchain's library.
sed -i -E 's/(: |\()DispatchQueue\?/\1Dispatch.DispatchQueue?/' \
  "$package/Tests/OpenCombineTests/FoundationTests/OperationQueueSchedulerTests.swift"
git -C "$package" -c user.name=stage -c user.email=stage@localhost commit -qam 'What gcd adopt does not do'

adopt() { "$tool" adopt --package-path "$package" --yes "$@" | grep -v '^+'; }
adopt --target OpenCombineDispatch --public | tee "$folder/advice"
adopt --target OpenCombineFoundation --target OpenCombineTests | tee -a "$folder/advice"
if grep -E 'lacks|seem to|wants' "$folder/advice"; then fail "there is advice where everything is done"; fi
[ "$(git -C "$package" status --porcelain | wc -l)" -eq 3 ] || fail "more or less than three files have been written"

options=(--package-path "$package" -j "$JOBS" -debug-info-format none)
swift build "${options[@]}" --build-tests
objects=$(swift build "${options[@]}" --show-bin-path)
count() { nm "$objects/$1.build/"*.o | grep -c "$2" || true; }
theirs=8Dispatch0A ours=12GrandCentral13DispatchQueueC
for target in OpenCombineDispatch OpenCombineFoundation; do
  [ "$(count "$target" "$ours")" -gt 0 ] || fail "$target has no queues of ours"
  # The file of names may hand a precondition on to Dispatch; the module's code must not know it.
  strays=$(find "$objects/$target.build" -name '*.o' ! -name 'GrandCentral+Names*' -exec nm {} + | grep "$theirs") || true
  [ -z "$strays" ] || fail "$target still uses Dispatch:"$'\n'"$strays"
done
# What the tests override of Foundation's is Dispatch's: the pattern finds such uses.
[ "$(count OpenCombineTests "$theirs")" -gt 0 ] || fail "no use of Dispatch is found where there is one"

# The tests that use Dispatch, themselves or by the helper that runs closures at a time.
classes=$(grep -lrE '\brace\(|Dispatch' --include='*Tests.swift' "$package/Tests" |
  xargs grep -hoE 'final class [A-Za-z]+Tests' | sed 's/.* //' | paste -sd '|')
[[ $classes == *DispatchQueueSchedulerTests* ]] || fail "no tests of the scheduler: $classes"
log=$OUT/adopt.log
# One of them looks at an operation queue's history as soon as the tenth action has met its expectation, and the operation adds the
# next one behind that action: on a loaded machine it may look too early, with either library.
swift test "${options[@]}" --skip-build --disable-swift-testing --filter "\.($classes)/" \
  --skip OperationQueueSchedulerTests/testScheduleRepeatingWithTestQueue 2>&1 | tee "$log" ||
  fail "OpenCombine's tests fail: $(grep -aoE 'error: .*' "$log" | head -n 5)"
summary=$(grep -aoE 'Executed [0-9]+ tests?, with [0-9]+ failures?' "$log" | tail -n 1)
case "$summary" in '' | *' 0 tests'* | 'Executed 1 test,'*) fail "no test ran" ;; esac
fact "OpenCombine on our queues, its tests $classes: $summary"

"$tool" adopt --package-path "$package" --remove --yes | grep -v '^-'
left=$(git -C "$package" status --porcelain)
[ -z "$left" ] || fail "gcd adopt --remove leaves something:"$'\n'"$left"
