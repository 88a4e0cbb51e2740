// swift-tools-version: 6.3
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The product `dispatch`: a libdispatch.so that shares the process's Swift runtime, of the same sources as the other
// build. A package of its own, whose unsafe flags do not reach users of `GrandCentral`. See decision 0019.
//
// With GRANDCENTRAL_SIMULATION in the environment it is the library that `gcd sim` puts beneath programs: the testing kit is
// compiled along, and stands between the program and the C library. See decision 0029.

let sources = "\(Context.packageDirectory)/Sources"
let simulates = Context.environment["GRANDCENTRAL_SIMULATION"] != nil
let map = simulates ? "CSimulation" : "CDispatch"

let package = Package(
  name: "drop-in",
  products: [.library(name: "dispatch", type: .dynamic, targets: ["DispatchEngine"])],
  targets: [
    .target(
      name: "CPlatform", path: "Sources/CPlatform", cSettings: simulates ? [.define("GRANDCENTRAL_SIMULATION")] : []),
    .target(
      name: "CDispatchGlue",
      path: "Sources/CDispatch",
      exclude: ["libdispatch.map"],
      publicHeadersPath: "Glue",
      cSettings: [
        .headerSearchPath("include"), .headerSearchPath("../CPlatform/include"),
        .define("GRANDCENTRAL_BUILDING"), .define("GRANDCENTRAL_SHARED_RUNTIME"),
      ]
    ),
    .target(
      name: "DispatchEngine",
      dependencies: ["CPlatform", "CDispatchGlue"],
      path: "Sources",
      exclude: [
        "CDispatch", "CPlatform", "CSimulation", "gcd", "GrandCentral/GrandCentral.docc",
        "GrandCentral/Primitives/README.md", "GrandCentral/Engine/README.md", "GrandCentral/Engine/Sleep/README.md",
        // It needs _Concurrency.
        "GrandCentral/Dispatch/Concurrency",
      ],
      sources: [
        "GrandCentral/Platform", "GrandCentral/Primitives", "GrandCentral/Engine", "GrandCentral/Lanes",
        "GrandCentral/Dispatch", "DispatchABI",
      ],
      cSettings: [
        .headerSearchPath("CDispatch/include"),
        .define("GRANDCENTRAL_BUILDING"), .define("GRANDCENTRAL_SHARED_RUNTIME"),
      ],
      swiftSettings: [
        .define("GRANDCENTRAL_DROPIN"),
        // _Concurrency needs libdispatch.so, which this is. Functions that look alike stay apart: one body for several
        // of them would call through a pointer.
        .unsafeFlags([
          "-Xfrontend", "-disable-implicit-concurrency-module-import",
          "-Xfrontend", "-disable-implicit-string-processing-module-import",
          "-Xfrontend", "-function-sections", "-Xfrontend", "-disable-llvm-merge-functions-pass",
        ]),
      ],
      linkerSettings: [
        // With its name it stands for the toolchain's; the list keeps what is Swift's to itself, which gold does not.
        .unsafeFlags([
          "-use-ld=lld", "-Xlinker", "-soname=libdispatch.so", "-Xlinker", "-z", "-Xlinker", "nodelete",
          "-Xlinker", "--version-script=\(sources)/\(map)/libdispatch.map",
          // As the toolchain's needs it: found beside the library.
          "-Xlinker", "--no-as-needed", "-lBlocksRuntime", "-Xlinker", "-rpath", "-Xlinker", "$ORIGIN",
        ])
      ]
    ),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu11
)

if simulates, let engine = package.targets.last {
  package.targets.append(
    .target(
      name: "CSimulation", path: "Sources/CSimulation", exclude: ["libdispatch.map"],
      // An exception of C++ may pass through what stands in for the C library.
      cSettings: [.headerSearchPath("../CPlatform/include"), .unsafeFlags(["-fexceptions"])]))
  engine.dependencies.append("CSimulation")
  engine.sources?.append("GrandCentralTesting")
  engine.sources?.append("DispatchSimulation")
  engine.swiftSettings?.append(.define("GRANDCENTRAL_SIMULATION"))
  // What the library itself calls is the C library's.
  for name in [
    "clock_gettime", "epoll_wait", "nanosleep", "poll", "preadv2", "pthread_create", "pthread_once", "pwritev2", "read",
    "recv", "send", "sendmsg", "syscall", "timerfd_create", "timerfd_settime", "write",
  ] {
    engine.linkerSettings?.append(.unsafeFlags(["-Xlinker", "--wrap=\(name)"]))
  }
}
