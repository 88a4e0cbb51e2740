// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The library's own sources, with short delays of random length before and after atomic operations: what happens between two
// steps of a protocol is rare in the product and common here. Sources/GrandCentral/Perturbation.swift says how.
let package = Package(
  name: "perturbed",
  targets: [
    .target(name: "CPerturbation"),
    .target(name: "CPlatform"),
    .target(
      name: "GrandCentral", dependencies: ["CPlatform", "CPerturbation"],
      exclude: ["Library/Primitives/README.md", "Library/Engine/README.md", "Library/Engine/Sleep/README.md"],
      swiftSettings: [.unsafeFlags(["-enable-testing"])]),
    .target(name: "ContractSupport"),
    .executableTarget(name: "queue-fuzz", dependencies: ["GrandCentral", "ContractSupport"]),
    .executableTarget(name: "source-fuzz", dependencies: ["GrandCentral", "CPlatform", "ContractSupport"]),
    .target(name: "FaultyCalls"),
    .executableTarget(name: "channel-fuzz", dependencies: ["GrandCentral", "ContractSupport", "FaultyCalls"]),
  ],
  swiftLanguageModes: [.v6]
)
