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
  local testing module products
  testing=$(toolchain)/linux/testing
  mkdir -p "$1/module" "$1/symbols"
  for module in GrandCentralTesting GrandCentralTestingTraits GrandCentralTestingXCTest GrandCentralExecutors; do
    other_graph "$module" Sources "$1" "$2" -package-name grandcentral -I "$testing"
  done
  # Only the packages that these depend on are built: into the folder in which the stage `integrations` builds them.
  for module in CoreMetrics Tracing Logging OpenCombine; do
    swift build --package-path Integrations -j "$JOBS" --target "$module"
  done
  products=$(swift build --package-path Integrations --show-bin-path)
  for module in GrandCentralMetrics GrandCentralTracing GrandCentralLogging GrandCentralOpenCombine; do
    other_graph "$module" Integrations/Sources "$1" "$2" -I "$products/Modules" \
      -Xcc "-fmodule-map-file=$products/COpenCombineHelpers.build/module.modulemap"
  done
}

# other_graph MODULE SOURCES FOLDER LIBRARY FLAGS...: one of them.
other_graph() {
  local files
  mapfile -t files < <(find "$2/$1" -name '*.swift')
  swiftc -swift-version 6 -O -wmo -parse-as-library -module-name "$1" \
    -I Sources/CPlatform/include -I "$4/module" -I "$3/module" "${@:5}" \
    -emit-module -emit-module-path "$3/module/$1.swiftmodule" "${graphs[@]}" "$3/symbols" \
    -Xfrontend -emit-extension-block-symbols "${files[@]}"
}
