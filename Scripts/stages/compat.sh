#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: client files compile as with Dispatch, in Swift 5 and 6: no diagnostic more than those listed
# Budget: 300

. Scripts/lib.sh
. Scripts/compat.sh

clients=Tests/Programs/Compat
folder=$PWD/$OUT/compat
flags=(-I "$PWD/Sources/CPlatform/include")
mkdir -p "$folder"

emit_module Sources "$folder/module" -Xfrontend -experimental-skip-non-inlinable-function-bodies
Scripts/compat.py "$clients" "$clients/differences.txt" "$folder/clients" -I "$folder/module" "${flags[@]}"

# The check finds a planted difference: one parameter is stricter, and one async overload takes calls away.
rm -rf "$folder/planted-sources" "$folder/planted-clients"
mkdir -p "$folder/planted-clients"
cp -r Sources "$folder/planted-sources"
cp "$clients"/{Handlers,Blocking}.swift "$folder/planted-clients/"
sed -i 's/block: @escaping () -> Void/block: @escaping @Sendable () -> Void/' \
  "$folder/planted-sources/GrandCentral/Dispatch/Queues/DispatchWorkItem.swift"
cat >>"$folder/planted-sources/GrandCentral/Dispatch/Coordination/DispatchGroup.swift" <<<'
extension DispatchGroup { public func wait() async throws {} }'
emit_module "$folder/planted-sources" "$folder/planted" -Xfrontend -experimental-skip-non-inlinable-function-bodies
if Scripts/compat.py "$folder/planted-clients" /dev/null "$folder/clients" -I "$folder/planted" "${flags[@]}" \
  >"$folder/planted.log"; then
  fail "a stricter parameter and an async overload were planted, and not found"
fi
for planted in 'Handlers.swift:.* from a Sendable closure' "Blocking.swift:.* not marked with 'await'"; do
  grep -q "$planted" "$folder/planted.log" || fail "planted, and not found: $planted"
done
fact "2 planted differences found"
