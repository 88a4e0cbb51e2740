// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// Sources, timers, groups and channels in a snapshot.
extension GrandCentralRuntime {
  /// A source in a ``Snapshot``, other than a timer.
  public struct SnapshotSource: Sendable {
    /// Tells it from the others of the snapshot.
    public let number: Int
    /// What kind of source it is: "read source", "signal source", and so on.
    public let kind: String
    /// What it watches: a descriptor, a process, a signal; 0 if its kind has none.
    public let handle: UInt
    /// The number of the queue of its handlers, or 0.
    public let target: Int
    /// How often it has been suspended and not resumed.
    public let suspensions: Int
    /// Whether it has not been activated.
    public let isInactive: Bool
    /// Whether it has been cancelled.
    public let isCancelled: Bool
  }

  /// A timer in a ``Snapshot``.
  public struct SnapshotTimer: Sendable {
    /// Tells it from the others of the snapshot.
    public let number: Int
    /// How long it is until the timer fires next, negative if it is late; nil: it does not fire.
    public let remaining: Duration?
    /// The time between two fires; nil: it fires once.
    public let interval: Duration?
    /// The number of the queue of its handlers, or 0.
    public let target: Int
    /// How often it has been suspended and not resumed.
    public let suspensions: Int
    /// Whether it has not been activated.
    public let isInactive: Bool
    /// Whether it has been cancelled.
    public let isCancelled: Bool
  }

  /// A group in a ``Snapshot``.
  public struct SnapshotGroup: Sendable {
    /// Tells it from the others of the snapshot.
    public let number: Int
    /// How often it has been entered and not left.
    public let members: Int
  }

  /// A channel in a ``Snapshot``: a `DispatchIO`.
  public struct SnapshotChannel: Sendable {
    /// Tells it from the others of the snapshot.
    public let number: Int
    /// The descriptor that it reads and writes; nil for a path that has not been opened.
    public let descriptor: Int32?
    /// Operations that have not ended.
    public let operations: Int
    /// Bytes that these are to write and have not written.
    public let bytesToWrite: Int
    /// How often it has been suspended and not resumed.
    public let suspensions: Int
    /// Whether it has been closed, or could not be made.
    public let isClosed: Bool
  }
}

extension InsightLayout.ObjectEntry {
  fileprivate var isCancelled: Bool { state.flags & InsightLayout.cancelled != 0 }
}

extension GrandCentralRuntime.SnapshotSource {
  @_optimize(size)
  init(_ number: Int, _ entry: InsightLayout.ObjectEntry) {
    self.number = number
    kind = InsightText.read(entry.state.what)
    handle = UInt(entry.state.handle)
    target = Int(entry.target)
    suspensions = Int(entry.suspensions)
    isInactive = entry.inactive != 0
    isCancelled = entry.isCancelled
  }
}

extension GrandCentralRuntime.SnapshotTimer {
  @_optimize(size)
  init(_ number: Int, _ entry: InsightLayout.ObjectEntry) {
    self.number = number
    let (due, interval) = (entry.state.due, entry.state.interval)
    let now = (Clock(rawValue: UInt8(truncatingIfNeeded: entry.state.clock)) ?? .uptime).now()
    // Beyond the range of a number with a sign there is no fire either.
    remaining = due > UInt64(Int64.max) ? nil : .nanoseconds(Int64(due) - Int64(clamping: now))
    self.interval = interval == 0 ? nil : .nanoseconds(Int64(clamping: interval))
    target = Int(entry.target)
    suspensions = Int(entry.suspensions)
    isInactive = entry.inactive != 0
    isCancelled = entry.isCancelled
  }
}

extension GrandCentralRuntime.SnapshotGroup {
  @_optimize(size)
  init(_ number: Int, _ entry: InsightLayout.ObjectEntry) {
    self.number = number
    members = Int(clamping: Int64(bitPattern: entry.state.count))
  }
}

extension GrandCentralRuntime.SnapshotChannel {
  @_optimize(size)
  init(_ number: Int, _ entry: InsightLayout.ObjectEntry) {
    self.number = number
    let descriptor = Int32(truncatingIfNeeded: entry.state.handle)
    self.descriptor = descriptor < 0 ? nil : descriptor
    operations = Int(clamping: Int64(bitPattern: entry.state.count))
    bytesToWrite = Int(clamping: Int64(bitPattern: entry.state.bytes))
    suspensions = Int(entry.suspensions)
    isClosed = entry.isCancelled
  }
}
