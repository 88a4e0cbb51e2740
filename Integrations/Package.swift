// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// What the library gives to packages that others have made. A package of its own: users of the library alone resolve nothing.
let package = Package(
  name: "grand-central-integrations",
  products: [
    .library(name: "GrandCentralMetrics", targets: ["GrandCentralMetrics"]),
    .library(name: "GrandCentralTracing", targets: ["GrandCentralTracing"]),
    .library(name: "GrandCentralLogging", targets: ["GrandCentralLogging"]),
    .library(name: "GrandCentralOpenCombine", targets: ["GrandCentralOpenCombine"]),
  ],
  dependencies: [
    .package(name: "swift-grand-central", path: ".."),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .target(
      name: "GrandCentralMetrics",
      dependencies: [
        .product(name: "GrandCentral", package: "swift-grand-central"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ]),
    .target(
      name: "GrandCentralTracing",
      dependencies: [
        .product(name: "GrandCentral", package: "swift-grand-central"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .target(
      name: "GrandCentralLogging",
      dependencies: [
        .product(name: "GrandCentral", package: "swift-grand-central"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "GrandCentralOpenCombine",
      dependencies: [
        .product(name: "GrandCentral", package: "swift-grand-central"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]),
    .executableTarget(
      name: "spans-client",
      dependencies: ["GrandCentralTracing", .product(name: "Tracing", package: "swift-distributed-tracing")],
      path: "Tests/SpansClient"),
    .executableTarget(
      name: "order-service",
      dependencies: [
        "GrandCentralMetrics", "GrandCentralTracing",
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      path: "Examples/order-service"),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "GrandCentralMetrics", "GrandCentralTracing", "GrandCentralLogging", "GrandCentralOpenCombine",
        .product(name: "GrandCentralTesting", package: "swift-grand-central"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
