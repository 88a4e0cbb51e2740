// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// GrandCentral's layers are folders of one module, so nothing in the library's own build stops a lower layer from
// naming something of a higher one. Here the same folders, by symbolic link, are modules that end at each layer: L1
// is Platform alone, L2 adds Primitives, and so on. An upward reference is a name that such a module does not have.

func layer(_ name: String, excluding documents: [String] = []) -> Target {
  .target(name: name, dependencies: ["CPlatform"], exclude: documents)
}

let primitives = ["Primitives/README.md"]
let engine = primitives + ["Engine/README.md", "Engine/Sleep/README.md"]

let package = Package(
  name: "LayerCheck",
  targets: [
    .target(name: "CPlatform"),
    layer("L1"),
    layer("L2", excluding: primitives),
    layer("L3", excluding: engine),
    // The time types stand below the queues.
    layer("L3Time", excluding: engine),
    layer("L4", excluding: engine),
  ],
  swiftLanguageModes: [.v6]
)
