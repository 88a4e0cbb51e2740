#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: Integrations, the products for swift-metrics, swift-log, swift-distributed-tracing and OpenCombine, build without a warning and keep their word; how long their example takes, and its twin
# Budget: 600
# Ahead: swift test --package-path Integrations --filter nothing

. Scripts/lib.sh

package=Integrations
log=$OUT/integrations.log
# What is up to date prints nothing.
find "$package/.build/debug" \( -path '*GrandCentral[MTLO]*.build/*' -o -path '*order_service.build/*' \) -name '*.o' -delete 2>/dev/null || true
swift test --package-path "$package" -j "$JOBS" 2>&1 | tee "$log"
warnings=$(grep -aE '(^|[0-9]: )warning:' "$log" | grep -avE '/checkouts/|unhandled;' | sort -u) || true
[ -z "$warnings" ] || fail "$(wc -l <<<"$warnings") warnings:"$'\n'"$warnings"
fact "$(grep -a 'Test run with' "$log" | tail -n 1 | sed 's/^. *//')"

# --- The programs of its page compile, with what they take for granted.

products=$(swift build --package-path "$package" --show-bin-path)
page=$OUT/integrations-page
mkdir -p "$page"
cat >"$page/Around.swift" <<'SWIFT'
import GrandCentral
import InMemoryTracing
import OpenCombine

let tracer = InMemoryTracer()
let database = DispatchQueue(label: "database")
nonisolated(unsafe) let words = PassthroughSubject<String, Never>()
func search(_ word: String) -> [String] { [word] }
func show(_ found: [String]) {}
SWIFT
compiles() {
  swiftc -typecheck -swift-version 6 -warnings-as-errors -I "$products/Modules" \
    -Xcc "-fmodule-map-file=Sources/CPlatform/include/module.modulemap" \
    -Xcc "-fmodule-map-file=$products/COpenCombineHelpers.build/module.modulemap" \
    "$page/Around.swift" "$page/main.swift" 2>"$page/log"
}
for word in GrandCentralMetrics GrandCentralOpenCombine; do
  first_block "$package/README.md" swift "import $word" >"$page/main.swift"
  compiles || fail "the program with $word in $package/README.md: $(<"$page/log")"
done
sed -i 's/debounce/bounce/' "$page/main.swift"
if compiles; then fail "a program that does not compile was planted, and not found"; fi
grep -q "no member 'bounce'" "$page/log" || fail "the planted program fails for another reason: $(<"$page/log")"

# --- Spans in a timeline: each once, by name; events and errors are spans without a child.

build_tool gcd
# shellcheck disable=SC2154 # Set by build_tool.
tool=$binaries/gcd
client=$products/spans-client
"$tool" trace -o "$OUT/spans.trace" -- "$client"
spans_in() {
  "$tool" trace convert --format csv -o - "$1" | awk -F, '$4 == "span" { count[$3]++ }
    END { for (name in count) print count[name], name }' | sort
}
spans=$(spans_in "$OUT/spans.trace")
expected=$(printf '%s\n' '1 Failure' '1 GET /users' '1 audit' '8 query' '8 row')
[ "$spans" = "$expected" ] || fail "the spans of the timeline: $spans"
fact "$(wc -l <<<"$spans") kinds of spans in the timeline, each as often as it was made"

# --- The example: what it sold is what there was, and each order has its spans.

said=$("$tool" trace -o "$OUT/orders.trace" -- "$products/order-service" 1000 | grep -v '^# ')
expected=$(printf '%s\n' 'sold: 600' 'refused: 400' 'timed: 1000' 'total: 62700')
[ "$said" = "$expected" ] || fail "order-service says: $said"
spans=$(spans_in "$OUT/orders.trace" | sort -n)
expected=$(printf '%s\n' '400 SoldOut' '600 book' '1000 order' '1000 reserve')
[ "$spans" = "$expected" ] || fail "the spans of order-service: $spans"
fact "order-service: $(tr '\n' ',' <<<"$spans" | sed 's/,$//; s/,/, /g') spans"

# --- Its twin: the same source with -DTWIN takes the same orders on the toolchain's library. How long both take; ours has more metrics.

# An optimised build takes longer than all else here. Where time is short, what is built already is compared, and the times say little.
configuration=release
[ -z "${CI:-}" ] || configuration=debug
example=$package/Examples/order-service/OrderService.swift
swift build --package-path "$package" -c "$configuration" --product order-service -j "$JOBS"
built=$(swift build --package-path "$package" -c "$configuration" --show-bin-path)
grep -vE '/(order_service|GrandCentral[A-Za-z]*|CPlatform)\.build/' "$built/order-service.product/Objects.LinkFileList" >"$OUT/order-objects"
swiftc -O -swift-version 6 -parse-as-library -module-name Example -warnings-as-errors -DTWIN -I "$built/Modules" "$example" \
  "@$OUT/order-objects" -o "$OUT/order-twin"
for program in "$built/order-service:0" "$OUT/order-twin:1"; do
  uses=$(nm "${program%:*}" | grep -c '8Dispatch0A5QueueC') || true
  [ $((uses > 0)) -eq "${program#*:}" ] || fail "${program%:*} uses $uses symbols of the toolchain's queues"
done
# orders PROGRAM: sets `said` and `took`.
orders() {
  local begin=${EPOCHREALTIME/./}
  said=$("$1" 10000) || fail "$1 ended with $?"
  took=$(((${EPOCHREALTIME/./} - begin) / 1000))
  said=$(grep -v '^# ' <<<"$said")
}
orders "$OUT/order-twin"
twin_said=$said twin_took=$took
orders "$built/order-service"
[ "$said" = "$twin_said" ] || fail "order-service says $said, and its twin $twin_said"
[ "$said" = $'sold: 600\nrefused: 9400\ntimed: 10000\ntotal: 62700' ] || fail "order-service says of 10,000 orders: $said"
fact "order-service, $configuration: 10,000 orders, $took ms, its twin $twin_took ms"
