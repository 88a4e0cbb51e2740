// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The library's own sources on checked atomics and a made-up machine, under an explorer of schedules and of the C11 memory
// model. Nothing here reaches users. README.md says how to write a scenario and how to read a failure.
//
//   CheckerSeam     what the core offers to the machine (a header)
//   CheckerCore     fibres, memory model, explorers, reports; knows nothing of the library
//   CheckedAtomics  stands in for the module Synchronization: each operation is a point of the explorer
//   CPlatform       the made-up machine: the library's own headers, another implementation
//   GrandCentral    the library's sources, unchanged (a link)
//   checker         the scenarios, and the command
let unchecked = "-enforce-exclusivity=unchecked"  // Swift keeps the accesses under way per thread; fibres share one.

let package = Package(
  name: "checker",
  targets: [
    .target(name: "CheckerSeam"),
    .target(
      name: "CheckerCore", dependencies: ["CheckerSeam"],
      cxxSettings: [.unsafeFlags(["-O2", "-fno-exceptions", "-fno-rtti", "-fno-omit-frame-pointer"])]),
    .target(
      name: "CheckedAtomics", dependencies: ["CheckerCore"],
      swiftSettings: [.enableExperimentalFeature("RawLayout"), .enableExperimentalFeature("BuiltinModule"),
        .unsafeFlags([unchecked])]),
    .target(name: "CPlatform", dependencies: ["CheckerSeam"]),
    .target(
      name: "GrandCentral", dependencies: ["CPlatform", "CheckedAtomics"],
      exclude: ["Primitives/README.md", "Engine/Sleep/README.md"],
      swiftSettings: [
        .unsafeFlags(["-module-alias", "Synchronization=CheckedAtomics", "-enable-testing", unchecked])
      ]),
    .executableTarget(
      name: "checker", dependencies: ["GrandCentral", "CheckedAtomics", "CheckerCore", "CPlatform"],
      swiftSettings: [
        .unsafeFlags(["-module-alias", "Synchronization=CheckedAtomics", unchecked])
      ]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
