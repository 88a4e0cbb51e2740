// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A program as users write them: another package, Swift 6 mode, nothing `@preconcurrency`, and no warning.
let package = Package(
  name: "client",
  dependencies: [.package(name: "swift-grand-central", path: "../../..")],
  targets: [
    .executableTarget(name: "client", dependencies: [.product(name: "GrandCentral", package: "swift-grand-central")])
  ],
  swiftLanguageModes: [.v6]
)
