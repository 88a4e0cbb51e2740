// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Programs as users write them, in another package, nothing `@preconcurrency`, and no warning. Scripts/stages/client.sh puts the URL
// of a repository with a tag in place of the path.
let grandCentral: [Target.Dependency] = [.product(name: "GrandCentral", package: "swift-grand-central")]
let package = Package(
  name: "client",
  dependencies: [.package(name: "swift-grand-central", path: "../../..")],
  targets: [
    .executableTarget(name: "client", dependencies: grandCentral),
    // What the library adds to a program is the difference of these two.
    .executableTarget(name: "small", dependencies: grandCentral),
    .executableTarget(name: "nothing"),
    .executableTarget(name: "swift5", dependencies: grandCentral, swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(name: "foundation", dependencies: grandCentral),
    .executableTarget(name: "mainactor", dependencies: grandCentral),
    .executableTarget(name: "asyncmain", dependencies: grandCentral),
    .target(name: "Counter"),
    .executableTarget(
      name: "cxx", dependencies: grandCentral + ["Counter"], swiftSettings: [.interoperabilityMode(.Cxx)]),
  ],
  swiftLanguageModes: [.v6]
)
