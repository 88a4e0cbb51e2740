// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a timeline is made into.
protocol TraceExport {
  /// What stands before everything else.
  mutating func begin(_ output: TraceOutput)
  mutating func write(_ fact: ReadFact, _ tracks: TrackNames, _ output: TraceOutput)
  mutating func end(_ tracks: TrackNames, _ output: TraceOutput)
}

/// The names of the tracks as far as they have been read.
struct TrackNames {
  let reader: TraceReader

  subscript(track: UInt64) -> ReadTrack { reader.tracks[track] ?? ReadTrack() }

  /// The name, behind those of what it belongs to: without the process.
  func path(_ track: UInt64) -> String {
    var names: [String] = []
    var next = track
    // In a damaged file the parents may form a circle.
    for _ in 0..<8 {
      guard let found = reader.tracks[next], found.kind != .process else { break }
      names.insert(found.name, at: 0)
      next = found.parent
    }
    return names.joined(separator: "/")
  }

  func isQueue(_ track: UInt64) -> Bool {
    let found = self[track]
    let parent = self[found.parent]
    return found.kind == .plain && parent.name == "Queues" && self[parent.parent].kind == .process
  }

  /// The process that a track belongs to.
  func process(of track: UInt64) -> UInt64 {
    var next = track
    for _ in 0..<8 {
      guard let found = reader.tracks[next] else { break }
      if found.kind == .process || found.kind == .thread { return found.process }
      next = found.parent
    }
    return 0
  }
}

/// A table of everything, for spreadsheets and data bases (RFC 4180).
struct CSVExport: TraceExport {
  mutating func begin(_ output: TraceOutput) {
    output.write("kind,track,name,category,begin_ns,duration_ns,value\r\n")
  }

  mutating func write(_ fact: ReadFact, _ tracks: TrackNames, _ output: TraceOutput) {
    switch fact {
    case .slice(let slice): row("slice", slice, "\(slice.end - slice.begin)", tracks, output)
    case .instant(let slice): row("instant", slice, "", tracks, output)
    case .counter(let track, let time, let value):
      output.write("counter,\(Self.field(tracks.path(track))),,,\(time),,\(value)\r\n")
    }
  }

  mutating func end(_ tracks: TrackNames, _ output: TraceOutput) {}

  private func row(
    _ kind: String, _ slice: ReadFact.Slice, _ duration: String, _ tracks: TrackNames, _ output: TraceOutput
  ) {
    let words = [tracks.path(slice.track), slice.name, slice.category].map(Self.field).joined(separator: ",")
    output.write("\(kind),\(words),\(slice.begin),\(duration),\r\n")
  }

  private static func field(_ text: String) -> String {
    guard text.utf8.contains(where: { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }) else { return text }
    return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}

/// Stacks for flame graphs: "queue;function" and how many microseconds its items took.
struct StacksExport: TraceExport {
  private var sums: [String: UInt64] = [:]

  mutating func begin(_ output: TraceOutput) {}

  mutating func write(_ fact: ReadFact, _ tracks: TrackNames, _ output: TraceOutput) {
    guard case .slice(let slice) = fact, tracks.isQueue(slice.track) else { return }
    let stack = Self.frame(tracks[slice.track].name) + ";" + Self.frame(slice.name)
    sums[stack] = (sums[stack] ?? 0).addingOrMost(slice.end - slice.begin)
  }

  mutating func end(_ tracks: TrackNames, _ output: TraceOutput) {
    // Functions that took almost no time are shown too.
    for (stack, sum) in sums.sorted(by: { $0.key < $1.key }) {
      output.write("\(stack) \(max(1, sum.addingOrMost(500) / 1000))\n")
    }
  }

  private static func frame(_ name: String) -> String {
    let safe = TextLayout.printable(name).split(separator: ";", omittingEmptySubsequences: false).joined(separator: ":")
    return safe.isEmpty ? "-" : safe
  }
}

/// The format of Chrome's tracing, which many tools read. Times in it are microseconds.
struct JSONExport: TraceExport {
  private var isFirst = true

  mutating func begin(_ output: TraceOutput) { output.write("{\"traceEvents\":[") }

  mutating func write(_ fact: ReadFact, _ tracks: TrackNames, _ output: TraceOutput) {
    switch fact {
    case .slice(let slice):
      event("X", slice, ["\"dur\":\(Self.microseconds(slice.end - slice.begin))"], tracks, output)
      flows(slice, tracks, output)
    case .instant(let slice):
      event("i", slice, ["\"s\":\"t\""], tracks, output)
      flows(slice, tracks, output)
    case .counter(let track, let time, let value):
      let name = Self.quoted(tracks.path(track))
      put(
        "{\"ph\":\"C\",\"name\":\(name),\"pid\":\(tracks.process(of: track)),\"ts\":\(Self.microseconds(time)),"
          + "\"args\":{\"value\":\(value)}}", output)
    }
  }

  mutating func end(_ tracks: TrackNames, _ output: TraceOutput) {
    for (number, track) in tracks.reader.tracks.sorted(by: { $0.key < $1.key }) where track.kind != .counter {
      let isProcess = track.kind == .process
      let name = Self.quoted(isProcess ? track.name : tracks.path(number))
      put(
        "{\"ph\":\"M\",\"name\":\"\(isProcess ? "process_name" : "thread_name")\",\"pid\":\(tracks.process(of: number)),"
          + "\"tid\":\(Self.thread(number, track)),\"args\":{\"name\":\(name)}}", output)
    }
    output.write("\n]}\n")
  }

  private mutating func event(
    _ phase: String, _ slice: ReadFact.Slice, _ more: [String], _ tracks: TrackNames, _ output: TraceOutput
  ) {
    var members = ["\"ph\":\"\(phase)\"", "\"name\":\(Self.quoted(slice.name))"]
    if !slice.category.isEmpty { members.append("\"cat\":\(Self.quoted(slice.category))") }
    members += [place(slice.track, tracks), "\"ts\":\(Self.microseconds(slice.begin))"] + more
    let notes = slice.notes.map { "\(Self.quoted($0.name)):\($0.number.map { "\($0)" } ?? Self.quoted($0.text))" }
    if !notes.isEmpty { members.append("\"args\":{\(notes.joined(separator: ","))}") }
    put("{" + members.joined(separator: ",") + "}", output)
  }

  private mutating func flows(_ slice: ReadFact.Slice, _ tracks: TrackNames, _ output: TraceOutput) {
    for (flow, phase, time) in [(slice.endingFlow, "f", slice.begin), (slice.flow, "s", slice.begin)] where flow != 0 {
      put(
        "{\"ph\":\"\(phase)\",\"bp\":\"e\",\"name\":\"flow\",\"cat\":\"flow\",\"id\":\"0x\(String(flow, radix: 16))\","
          + "\(place(slice.track, tracks)),\"ts\":\(Self.microseconds(time))}", output)
    }
  }

  private func place(_ track: UInt64, _ tracks: TrackNames) -> String {
    "\"pid\":\(tracks.process(of: track)),\"tid\":\(Self.thread(track, tracks[track]))"
  }

  private mutating func put(_ text: String, _ output: TraceOutput) {
    output.write(isFirst ? "\n" : ",\n")
    output.write(text)
    isFirst = false
  }

  /// The kernel's number of a thread; other tracks have numbers that no thread has.
  private static func thread(_ number: UInt64, _ track: ReadTrack) -> UInt64 {
    track.kind == .thread ? track.thread : track.kind == .process ? track.process : 1 << 23 | number
  }

  private static func quoted(_ text: String) -> String { JSONValue.string(text).line }

  private static func microseconds(_ nanoseconds: UInt64) -> String {
    let rest = String(nanoseconds % 1000)
    return "\(nanoseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}
