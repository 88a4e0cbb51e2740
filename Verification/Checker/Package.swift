// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The library's own sources on checked atomics and a made-up machine, under an explorer of schedules and of the C11 memory
// model. Nothing here reaches users. README.md says how to write a scenario and how to read a failure.
//
//   CheckerSeam     what the core offers to the machine (a header)
//   CheckerHooks    what the checked atomics call (a header)
//   CheckerCore     fibres, memory model, explorers, reports; knows nothing of the library
//   CheckedAtomics  stands in for the module Synchronization: each operation is a point of the explorer
//   CPlatform       the made-up machine: the library's own headers, another implementation
//   GrandCentral    the library's sources, unchanged (a link); the thread sanitizer's instrumentation tells the core of plain accesses
//   CheckerKit      how a scenario is written
//   litmus          tests of the memory model
//   Scenarios       what is checked
//   checker         the command
let unchecked = "-enforce-exclusivity=unchecked"  // Swift keeps the accesses under way per thread; fibres share one.

let package = Package(
  name: "checker",
  targets: [
    .target(name: "CheckerSeam"),
    .target(name: "CheckerHooks"),
    .target(
      name: "CheckerCore", dependencies: ["CheckerSeam", "CheckerHooks"],
      cxxSettings: [.unsafeFlags(["-O2", "-fno-exceptions", "-fno-rtti", "-fno-omit-frame-pointer"])]),
    .target(
      name: "CheckedAtomics", dependencies: ["CheckerHooks"],
      swiftSettings: [
        .enableExperimentalFeature("RawLayout"), .enableExperimentalFeature("BuiltinModule"),
        .unsafeFlags([unchecked]),
      ]),
    .target(name: "CPlatform", dependencies: ["CheckerSeam"]),
    .target(
      name: "GrandCentral", dependencies: ["CPlatform", "CheckedAtomics"],
      exclude: ["Primitives/README.md", "Engine/README.md", "Engine/Sleep/README.md"],
      swiftSettings: [
        .unsafeFlags([
          "-module-alias", "Synchronization=CheckedAtomics", "-enable-testing", unchecked, "-sanitize=thread",
        ])
      ]),
    .target(name: "CheckerKit", dependencies: ["CheckerCore"], swiftSettings: [.unsafeFlags([unchecked])]),
    .executableTarget(
      name: "litmus", dependencies: ["CheckerKit", "CheckedAtomics", "CheckerCore"],
      swiftSettings: [
        .swiftLanguageMode(.v5), .unsafeFlags(["-module-alias", "Synchronization=CheckedAtomics", unchecked]),
      ]),
    .target(
      name: "Scenarios",
      dependencies: ["CheckerKit", "GrandCentral", "CheckedAtomics", "CheckerCore", "CheckerSeam", "CPlatform"],
      swiftSettings: [.unsafeFlags(["-module-alias", "Synchronization=CheckedAtomics", unchecked])]),
    .executableTarget(
      name: "checker", dependencies: ["Scenarios", "CheckerKit", "CheckerCore", "GrandCentral", "CPlatform"],
      swiftSettings: [.swiftLanguageMode(.v5), .unsafeFlags([unchecked])]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
