// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import GrandCentralExecutors

/// A program whose main is `async`: the runtime decides what becomes of its main thread. One scenario a process.
@main
struct AsyncMain {
  typealias Body = @MainActor () async -> Void

  @MainActor static let scenarios: [String: Body] = [
    "main-queue": mainQueue, "main-queue-busy": busyMainQueue, "main-sync-on-main": syncOnMain,
    "late-dispatch-main": lateDispatchMain, "late-descriptor": lateDescriptor, "forked": forked,
    "pool": pool, "pool-group": group, "pool-sleeps": sleeps, "pool-cancels": cancels, "pool-streams": streams,
    "pool-blocks": blocks, "pool-starves": starves, "pool-main-actor": mainActorOnPool, "pool-figures": figures,
    "pool-dispatch-main": dispatchMainAtEnd, "dispatch-main-at-end": dispatchMainAtEnd, "default-figures": figures,
  ]

  @MainActor static func main() async {
    Kernel.prepare()
    let name = CommandLine.arguments.dropFirst().first ?? ""
    if name.hasPrefix("pool"), !DispatchExecutors.install() {
      report("skip", "this Swift does not let a program choose its executors")
      return
    }
    guard let body = scenarios[name] else { exit(64) }
    await body()
  }
}

/// One line on standard output, written at once.
func report(_ key: String, _ value: some CustomStringConvertible) {
  var bytes = Array("\(key)=\(value)\n".utf8)
  _ = write(1, &bytes, bytes.count)
}

func report(_ key: String, _ value: Bool) { report(key, value ? 1 : 0) }

/// What only the main actor, and the main queue's items, touch.
@MainActor
final class Shared {
  private(set) var count = 0
  private let occupancy = Occupancy()

  func add() {
    occupancy.enter()
    count += 1
    occupancy.leave()
  }

  var peak: Int { occupancy.peak }
}
