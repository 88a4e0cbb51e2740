// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The tool `gcd` and its tests. A package of its own: a user of the library need not resolve what the tool depends on. It
// compiles the library's sources as they lie there, as the tool reads the structures of CPlatform, which is no product.

let package = Package(
  name: "gcd",
  products: [.executable(name: "gcd", targets: ["gcd"])],
  dependencies: [.package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0")],
  targets: [
    .target(name: "CPlatform"),
    .target(
      name: "GrandCentral",
      dependencies: ["CPlatform"],
      exclude: ["GrandCentral.docc", "Primitives/README.md", "Engine/README.md", "Engine/Sleep/README.md"]
    ),
    .target(name: "GrandCentralTesting", dependencies: ["GrandCentral", "CPlatform"]),
    .executableTarget(
      name: "gcd",
      dependencies: [
        "GrandCentral", "GrandCentralTesting", "CPlatform",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    // What the tool looks at.
    .executableTarget(name: "traced", dependencies: ["GrandCentral"], path: "Tests/Programs/Traced"),
    .executableTarget(name: "photo-import", dependencies: ["GrandCentral"], path: "Examples/PhotoImport"),
    .testTarget(name: "ToolTests", dependencies: ["gcd", "GrandCentralTesting", "CPlatform", "traced"]),
  ],
  swiftLanguageModes: [.v6]
)
