// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// The page for a region that the tool passes to the command that it starts. Even if the command ends soon, the tool has what
/// the command has written.
final class RegionOffer {
  private let descriptor: Int32

  /// Nil where the kernel refuses it. Then the tool looks for the command's region as for that of any process.
  init?() {
    descriptor = gc_insight_offer()
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// What tells the command of it.
  var variable: String { GC_INSIGHT_OFFER_VARIABLE + "=\(descriptor)" }

  /// Calls `start`, which starts a process that has the page as well.
  func handDown<Result>(_ start: () -> Result) -> Result {
    _ = fcntl(descriptor, F_SETFD, 0)
    defer { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return start()
  }

  /// The region, once a process has made one of it.
  var region: RegionReader? { try? RegionReader(RegionMemory(descriptor: descriptor, writable: true)) }
}
