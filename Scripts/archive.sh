# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How docc's archives are made, which the stage `docs` checks and `Scripts/site` shows. Sourced after lib.sh and compat.sh.

# shellcheck disable=SC2034 # For the code that calls.
catalogue=Sources/GrandCentral/GrandCentral.docc
graphs=(-Xfrontend -experimental-skip-non-inlinable-function-bodies -emit-symbol-graph -emit-symbol-graph-dir)

# convert FOLDER NAME [CATALOGUE]: FOLDER/NAME.doccarchive, of the symbol graphs in FOLDER/symbols.
convert() {
  docc convert ${3:+"$3"} --additional-symbol-graph-dir "$1/symbols" --output-path "$1/$2.doccarchive" \
    --fallback-display-name "$2" --fallback-bundle-identifier "${2,,}" --warnings-as-errors
}

# library_graph FOLDER: the library's module, and its symbol graph in FOLDER/symbols.
library_graph() {
  mkdir -p "$1/symbols"
  emit_module Sources "$1/module" "${graphs[@]}" "$1/symbols"
}

# other_graphs FOLDER LIBRARY: the same of the modules beside the library, whose own module is in LIBRARY/module.
other_graphs() {
  local module testing
  testing=$(dirname "$(readlink -f "$(command -v swiftc)")")/../lib/swift/linux/testing
  mkdir -p "$1/module" "$1/symbols"
  for module in GrandCentralTesting GrandCentralTestingTraits; do
    swiftc -swift-version 6 -O -wmo -parse-as-library -module-name "$module" -package-name grandcentral \
      -I Sources/CPlatform/include -I "$2/module" -I "$1/module" -I "$testing" \
      -emit-module -emit-module-path "$1/module/$module.swiftmodule" "${graphs[@]}" "$1/symbols" "Sources/$module"/*.swift
  done
}
