// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension Snapshot {
  /// What is said of the threads that are left out for want of room.
  var leftOutWords: String {
    let who = leftOut == 1 ? "1 more thread waits" : "\(NumberFormat.grouped(leftOut)) more threads wait"
    return "\(who) in the library's calls; there is room for \(NumberFormat.grouped(room)) threads"
  }

  /// The same of those that could not be read.
  var tornWords: String {
    torn == 1
      ? "1 entry changed at each look, and is left out"
      : "\(NumberFormat.grouped(torn)) entries changed at each look, and are left out"
  }
}

// What people read of an object.
extension Snapshot.Object {
  /// "read source", "timer", "serial".
  var kindWords: String { kind == .source && !label.isEmpty ? TextLayout.printable(label) : kind.rawValue }

  /// What a handle of its kind is.
  var watchedKind: String {
    if label.hasPrefix("signal") { return "signal" }
    return label.hasPrefix("process") ? "process" : "descriptor"
  }

  /// "descriptor 5", "in 1.5 s, every 2 s", "3 members".
  var watches: String {
    guard let state else { return "" }
    switch kind {
    case .timer: return [next, every].filter { !$0.isEmpty }.joined(separator: ", ")
    case .group: return state.count == 1 ? "1 member" : "\(state.count) members"
    case .source, .channel:
      var parts = state.handle.map { ["\(watchedKind) \($0)"] } ?? []
      if kind == .channel, state.count > 0 {
        parts.append("\(state.count) \(state.count == 1 ? "operation" : "operations")")
      }
      if state.bytes > 0 { parts.append("\(NumberFormat.grouped(state.bytes)) bytes to write") }
      if state.barriers > 0 {
        parts.append(state.barriers == 1 ? "a barrier waits" : "\(state.barriers) barriers wait")
      }
      if let age = state.reads { parts.append("nothing to read for \(TopModel.length(age))") }
      if let age = state.writes { parts.append("no room to write for \(TopModel.length(age))") }
      return parts.joined(separator: ", ")
    default: return ""
    }
  }

  private var next: String {
    guard let remaining = state?.remaining else { return "never" }
    // A timer is late while its handler runs, and for as long as it is suspended.
    let length = TopModel.length(remaining.magnitude)
    return remaining >= 0 ? "in \(length)" : "\(length) ago"
  }

  private var every: String {
    guard let interval = state?.interval, interval > 0 else { return "" }
    return "every \(TopModel.length(interval))"
  }

  /// A channel with an operation that waits for its descriptor, or with something that waits for its operations.
  var waitsForDescriptor: Bool {
    guard kind == .channel, endedAge == nil, let state else { return false }
    return state.reads != nil || state.writes != nil || state.count > 0 && (state.barriers > 0 || state.isCancelled)
  }

  /// "suspended 2, inactive, cancelled".
  var stateWords: String {
    var words: [String] = []
    if suspensions > 0 { words.append("suspended \(suspensions)") }
    if isInactive { words.append("inactive") }
    if state?.isCancelled ?? false { words.append(kind == .channel ? "closed" : "cancelled") }
    return words.joined(separator: ", ")
  }
}
