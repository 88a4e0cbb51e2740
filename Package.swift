// swift-tools-version: 6.2
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

let engineUnderTest: [Target.Dependency] = ["GrandCentral", "CPlatform"]
let contract: [Target.Dependency] = engineUnderTest + ["ContractSupport"]

let package = Package(
  name: "swift-grand-central",
  products: [
    .library(name: "GrandCentral", targets: ["GrandCentral"]),
    // Experimental: Swift Concurrency's own pool replaced by ours.
    .library(name: "GrandCentralExecutors", targets: ["GrandCentralExecutors"]),
    // For tests: virtual time, and schedules that are chosen.
    .library(name: "GrandCentralTesting", targets: ["GrandCentralTesting"]),
    // The same as a trait of Swift Testing, which the toolchain has.
    .library(name: "GrandCentralTestingTraits", targets: ["GrandCentralTestingTraits"]),
    // The same for XCTest, which the toolchain has.
    .library(name: "GrandCentralTestingXCTest", targets: ["GrandCentralTestingXCTest"]),
  ],
  // In every build, unless all packages of a program that take this one leave it out: `traits: []` behind its version.
  traits: [
    .trait(
      name: "Tasks",
      description: "What async code and tasks use: a program without it has no need of Swift's library of tasks."),
    .default(enabledTraits: ["Tasks"]),
  ],
  // No dependencies: a user of the package resolves nothing besides. The tool, which has one, is the package in Tool.
  targets: [
    .target(name: "CPlatform"),
    .target(
      name: "GrandCentral",
      dependencies: ["CPlatform"],
      exclude: ["Primitives/README.md", "Engine/README.md", "Engine/Sleep/README.md"],
      // A build that is not of this manifest has everything.
      swiftSettings: [.define("HAS_TRAITS")]
    ),
    .target(name: "GrandCentralExecutors", dependencies: ["GrandCentral"]),
    .target(name: "GrandCentralTesting", dependencies: engineUnderTest),
    .target(name: "GrandCentralTestingTraits", dependencies: ["GrandCentralTesting"]),
    .target(name: "GrandCentralTestingXCTest", dependencies: ["GrandCentralTesting"]),
    .executableTarget(name: "word-index", dependencies: ["GrandCentral"], path: "Examples/swift/word-index"),
    .executableTarget(name: "channel-cat", dependencies: ["GrandCentral"], path: "Examples/swift/channel-cat"),
    .executableTarget(name: "channel-copy", dependencies: ["GrandCentral"], path: "Examples/swift/channel-copy"),
    .executableTarget(name: "image-pipeline", dependencies: ["GrandCentral"], path: "Examples/swift/image-pipeline"),
    .executableTarget(name: "log-follower", dependencies: ["GrandCentral"], path: "Examples/swift/log-follower"),
    .executableTarget(name: "parallel-grep", dependencies: ["GrandCentral"], path: "Examples/swift/parallel-grep"),
    .executableTarget(name: "http-echo", dependencies: ["GrandCentral"], path: "Examples/swift/http-echo"),
    .executableTarget(name: "job-runner", dependencies: ["GrandCentral"], path: "Examples/swift/job-runner"),
    .target(name: "ContractSupport", path: "Tests/Support"),
    .target(name: "SlowRuntime", path: "Tests/Programs/SlowRuntime"),
    .executableTarget(name: "contract-probe", dependencies: contract + ["SlowRuntime"], path: "Tests/Programs/Probe"),
    .executableTarget(
      name: "async-main-probe", dependencies: contract + ["GrandCentralExecutors"], path: "Tests/Programs/AsyncMain"
    ),
    .target(name: "ThreadLocals", path: "Tests/Programs/ThreadLocals/Storage"),
    .executableTarget(
      name: "thread-locals-probe", dependencies: contract + ["ThreadLocals"], path: "Tests/Programs/ThreadLocals/Probe"),
    .executableTarget(name: "channel-errors", dependencies: ["GrandCentral"], path: "Tests/Programs/ChannelErrors"),
    .target(name: "FaultyCalls", path: "Tests/Programs/FaultyCalls"),
    .executableTarget(
      name: "channel-fuzz", dependencies: contract + ["FaultyCalls"], path: "Tests/Programs/ChannelFuzz"),
    .executableTarget(name: "queue-fuzz", dependencies: contract, path: "Tests/Programs/QueueFuzz"),
    .executableTarget(name: "source-fuzz", dependencies: contract, path: "Tests/Programs/SourceFuzz"),
    .executableTarget(name: "hangs", dependencies: contract, path: "Tests/Programs/Hangs"),
    .executableTarget(name: "run-loop-probe", dependencies: contract, path: "Tests/Programs/RunLoop"),
    .testTarget(name: "PlatformTests", dependencies: contract),
    .testTarget(name: "PrimitivesTests", dependencies: contract),
    .testTarget(name: "EngineTests", dependencies: contract + ["contract-probe", "thread-locals-probe"]),
    .testTarget(name: "DispatchTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "SourceTests", dependencies: contract + ["contract-probe"]),
    .testTarget(name: "DataTests", dependencies: contract),
    .testTarget(name: "IOTests", dependencies: contract + ["contract-probe", "channel-errors"]),
    .testTarget(
      name: "ConcurrencyTests", dependencies: contract + ["contract-probe", "async-main-probe", "run-loop-probe"]
    ),
    .testTarget(name: "FaultTests", dependencies: contract + ["contract-probe", "hangs"]),
    .testTarget(name: "StressTests", dependencies: contract + ["contract-probe"]),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "GrandCentral", "GrandCentralExecutors", "GrandCentralTesting", "GrandCentralTestingTraits",
        "GrandCentralTestingXCTest",
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

// A check that needs some of the tests alone names them, and builds no others, and no examples.
if let wanted = Context.environment["GRANDCENTRAL_TESTS"]?.split(separator: " ") {
  package.targets.removeAll { target in
    target.type == .test ? !wanted.contains { $0 == target.name } : target.path?.hasPrefix("Examples/") ?? false
  }
}
