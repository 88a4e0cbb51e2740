// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Numbers of Perfetto's public schema, as far as traces of ours have them.
enum PerfettoField {
  enum Trace {
    static let packet: UInt32 = 1
  }

  enum Packet {
    static let clockSnapshot: UInt32 = 6
    static let timestamp: UInt32 = 8
    static let sequence: UInt32 = 10
    static let event: UInt32 = 11
    static let interned: UInt32 = 12
    static let flags: UInt32 = 13
    static let previousDropped: UInt32 = 42
    static let compressed: UInt32 = 50
    static let clock: UInt32 = 58
    static let defaults: UInt32 = 59
    static let track: UInt32 = 60
  }

  /// Values of the field `flags`.
  enum Flag {
    static let cleared: UInt64 = 1
    static let needsState: UInt64 = 2
  }

  enum Clock {
    static let entry: UInt32 = 1
    static let primary: UInt32 = 2
    static let identifier: UInt32 = 1
    static let timestamp: UInt32 = 2
    static let isIncremental: UInt32 = 3
  }

  /// Numbers of clocks: the kernel's, and one whose times are differences.
  enum ClockNumber {
    static let realtime: UInt64 = 1
    static let monotonic: UInt64 = 3
    static let boottime: UInt64 = 6
    static let incremental: UInt64 = 64
  }

  enum Defaults {
    static let event: UInt32 = 11
    static let clock: UInt32 = 58
  }

  enum Track {
    static let identifier: UInt32 = 1
    static let name: UInt32 = 2
    static let process: UInt32 = 3
    static let thread: UInt32 = 4
    static let parent: UInt32 = 5
    static let counter: UInt32 = 8
    static let childOrder: UInt32 = 11
    static let rank: UInt32 = 12
    static let processNumber: UInt32 = 1
    static let processName: UInt32 = 6
    static let threadNumber: UInt32 = 2
    static let threadName: UInt32 = 5
    static let counterUnit: UInt32 = 3
    /// Of `childOrder`: by the field `rank`.
    static let explicitOrder: UInt64 = 3
  }

  enum Event {
    static let category: UInt32 = 3
    static let annotation: UInt32 = 4
    static let type: UInt32 = 9
    static let name: UInt32 = 10
    static let track: UInt32 = 11
    static let counter: UInt32 = 30
    static let doubleCounter: UInt32 = 44
    static let flow: UInt32 = 47
    static let endingFlow: UInt32 = 48
    static let begin: UInt64 = 1
    static let end: UInt64 = 2
    static let instant: UInt64 = 3
    static let counterType: UInt64 = 4
  }

  enum Annotation {
    static let integer: UInt32 = 4
    static let text: UInt32 = 6
    static let name: UInt32 = 10
  }

  enum Interned {
    static let categories: UInt32 = 1
    static let names: UInt32 = 2
    static let identifier: UInt32 = 1
    static let name: UInt32 = 2
  }
}
