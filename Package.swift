// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

let engineUnderTest: [Target.Dependency] = ["GrandCentral", "CPlatform"]
let contract: [Target.Dependency] = engineUnderTest + ["ContractSupport"]

let package = Package(
  name: "swift-grand-central",
  products: [
    .library(name: "GrandCentral", targets: ["GrandCentral"]),
    .executable(name: "gcd", targets: ["gcd"]),
  ],
  dependencies: [
    // For the tool alone: the library target depends on nothing.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0")
  ],
  targets: [
    .target(name: "CPlatform"),
    .target(
      name: "GrandCentral",
      dependencies: ["CPlatform"],
      exclude: ["Primitives/README.md", "Engine/Sleep/README.md"]
    ),
    .target(name: "IndexKit"),
    .executableTarget(
      name: "gcd",
      dependencies: [
        "GrandCentral", "IndexKit",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
    ),
    .target(name: "ContractSupport", path: "Tests/Support"),
    .executableTarget(name: "contract-probe", dependencies: contract, path: "Tests/Programs/Probe"),
    .testTarget(name: "PlatformTests", dependencies: contract),
    .testTarget(name: "PrimitivesTests", dependencies: contract),
    .testTarget(name: "EngineTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "DispatchTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "SourceTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "DataTests", dependencies: contract),
    .testTarget(name: "IOTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "ConcurrencyTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "FaultTests", dependencies: contract),
    .testTarget(name: "StressTests", dependencies: contract),
    .testTarget(name: "ToolTests", dependencies: ["IndexKit", "gcd"]),
  ],
  swiftLanguageModes: [.v6]
)
