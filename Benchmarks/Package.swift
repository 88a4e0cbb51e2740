// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    // Named, so that the checkout may live in a folder of any name.
    .package(name: "swift-grand-central", path: "..")
  ],
  targets: [
    // Counts allocations, pins threads, reads the process's meters.
    .target(name: "BenchSupport"),
    .target(name: "BenchKit", dependencies: ["BenchSupport"]),
    // The two sides: the same files, `Rows/`, under a different import.
    .target(
      name: "OursOps",
      dependencies: ["BenchKit", "BenchSupport", .product(name: "GrandCentral", package: "swift-grand-central")]
    ),
    .target(name: "TheirsOps", dependencies: ["BenchKit", "BenchSupport"]),
    // A peer in the same process.
    .target(name: "SwiftConcurrencyOps", dependencies: ["BenchKit", "BenchSupport"]),
    .executableTarget(
      name: "benchmark",
      dependencies: ["BenchKit", "BenchSupport", "OursOps", "TheirsOps", "SwiftConcurrencyOps"]
    ),
  ],
  swiftLanguageModes: [.v6]
)
