// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@testable import GrandCentral

/// The processors that the library counts with: quotas of control groups and GRANDCENTRAL_THREADS tell it of fewer than the affinity mask.
enum Processors {
  static let areSeveral = Topology.activeProcessors() > 1
}
