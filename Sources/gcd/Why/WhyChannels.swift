// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Channels whose operations wait for a descriptor, or keep a barrier or the end of the channel waiting.
struct WhyChannels {
  let snapshot: Snapshot
  let after: UInt64

  /// More channels than these, of which nothing is known but that a read waits, are only counted: a server has thousands.
  private static let mostReads = 4

  /// Those that nothing but their descriptor, or a handler, lets go on: something waits behind their operations.
  var heldUp: [String] {
    living.filter { Self.holdsUp($0) && (longest($0) ?? after) >= after }.prefix(WhyWords.longestList).map { channel in
      let state = channel.state ?? Snapshot.ObjectState()
      let operations = operations(state)
      if state.barriers == 0 {
        return "\(name(channel)) is closed, and its cleanup handler waits for \(operations)"
      }
      let barriers =
        state.barriers == 1
        ? "a barrier of \(name(channel)) waits" : "\(state.barriers) barriers of \(name(channel)) wait"
      return "\(barriers) for \(operations)"
    }
  }

  /// The others with an operation that has waited long. Each may be what a thread waits for; the channel cannot know.
  var waiting: [String] {
    let others = living.filter { !Self.holdsUp($0) && (longest($0) ?? 0) >= after }
    let writes = others.filter { $0.state?.writes != nil }.prefix(WhyWords.longestList).map { channel in
      "\(name(channel)) waits with \(operations(channel.state ?? Snapshot.ObjectState()))"
    }
    let reads = others.filter { $0.state?.writes == nil }
    if reads.count > Self.mostReads { return writes + ["\(reads.count) channels have nothing to read"] }
    return writes + reads.map { "\(name($0)) waits with \(operations($0.state ?? Snapshot.ObjectState()))" }
  }

  private var living: [Snapshot.Object] { snapshot.objects.filter(\.waitsForDescriptor) }

  private static func holdsUp(_ channel: Snapshot.Object) -> Bool {
    guard let state = channel.state else { return false }
    return channel.suspensions == 0 && (state.barriers > 0 || state.isCancelled)
  }

  private func longest(_ channel: Snapshot.Object) -> UInt64? {
    [channel.state?.reads, channel.state?.writes].compactMap { $0 }.max()
  }

  /// "channel 5 of descriptor 7 (pipe:[123])"
  private func name(_ channel: Snapshot.Object) -> String {
    guard let handle = channel.state?.handle else { return "channel \(channel.shownNumber)" }
    let file = channel.state?.file ?? ""
    return "channel \(channel.shownNumber) of descriptor \(handle)"
      + (file.isEmpty ? "" : " (\(TextLayout.printable(file)))")
  }

  private func operations(_ state: Snapshot.ObjectState) -> String {
    var parts: [String] = []
    if let age = state.reads { parts.append("a read, which has had nothing to read for \(WhyWords.duration(age))") }
    if let age = state.writes {
      let rest = state.bytes > 0 ? "; \(NumberFormat.grouped(state.bytes)) bytes are left" : ""
      parts.append("a write, which has had no room for \(WhyWords.duration(age))\(rest)")
    }
    if !parts.isEmpty { return parts.joined(separator: " and ") }
    let operations = state.count == 1 ? "1 operation" : "\(state.count) operations"
    return
      "\(operations), of which none waits for the descriptor: a handler has not returned, or another channel has its turn"
  }

  static let remedy =
    " If it is the channel that holds it up: let its descriptor come to an end, or close the channel with the flag stop."
}
