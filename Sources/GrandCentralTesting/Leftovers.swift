// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// What a run has begun and not ended.
struct Leftovers {
  /// How often groups of the run were entered, less how often they were left.
  private var entered = 0
  /// How often a queue is suspended, by the library's numbers.
  private var suspensions: [UInt32: Int] = [:]

  mutating func note(_ kind: UInt8, _ queue: UInt32) {
    switch kind {
    case SimulationSupport.enters: entered += 1
    case SimulationSupport.leaves: entered -= 1
    case SimulationSupport.suspends: suspensions[queue, default: 0] += 1
    case SimulationSupport.resumes: suspensions[queue] = suspensions[queue].flatMap { $0 > 1 ? $0 - 1 : nil }
    case SimulationSupport.queueGoes: suspensions[queue] = nil
    default: break
    }
  }

  func isSuspended(_ queue: UInt32) -> Bool { suspensions[queue] != nil }

  func sentences(timers: Int) -> [String] {
    var sentences: [String] = []
    if timers > 0 { sentences.append(timers == 1 ? "one timer has not fired" : "\(timers) timers have not fired") }
    for (queue, count) in suspensions.sorted(by: { $0.key < $1.key }) {
      sentences.append(
        "the queue \"" + SimulationSupport.label(ofObject: queue) + "\" is suspended"
          + (count == 1 ? "" : " \(count) times"))
    }
    if entered > 0 {
      sentences.append(
        entered == 1 ? "one member of a group has not left" : "\(entered) members of groups have not left")
    }
    return sentences
  }
}
