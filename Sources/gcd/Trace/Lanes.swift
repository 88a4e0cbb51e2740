// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Tracks of one name, side by side: slices that overlap each get one of their own, as readers lose events where slices overlap.
struct Lanes {
  /// A heap: the lane that is free first comes first.
  private var lanes: [(track: UInt64, end: UInt64)] = []

  /// The track on which nothing else is from `begin` on; it is taken up to `end`.
  mutating func take(from begin: UInt64, to end: UInt64, make: () -> UInt64) -> UInt64 {
    if let first = lanes.first, first.end <= begin {
      lanes[0].end = end
      sink(0)
      return first.track
    }
    let track = make()
    lanes.append((track, end))
    rise(lanes.count - 1)
    return track
  }

  /// A slice that had no end has one.
  mutating func close(_ track: UInt64, at end: UInt64) {
    guard let index = lanes.lastIndex(where: { $0.track == track }) else { return }
    lanes[index].end = end
    rise(index)
    sink(index)
  }

  private mutating func rise(_ start: Int) {
    var index = start
    while index > 0, lanes[index].end < lanes[(index - 1) / 2].end {
      lanes.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func sink(_ start: Int) {
    var index = start
    while true {
      let children = (2 * index + 1..<2 * index + 3).filter { $0 < lanes.count && lanes[$0].end < lanes[index].end }
      guard let least = children.min(by: { lanes[$0].end < lanes[$1].end }) else { return }
      lanes.swapAt(index, least)
      index = least
    }
  }
}

/// How many items wait in a queue, from their submissions and starts, which come in no order: summed up for each millisecond.
struct DepthCounter {
  /// About a millisecond.
  private static let shift: UInt64 = 20
  /// An event that becomes known later than this is counted where the window begins.
  private static let window: UInt64 = 1 << 30

  private var sums: [UInt64: Int] = [:]
  private var bin: UInt64 = 0
  private var sum = 0
  private var floor: UInt64 = 0
  private var depth = 0
  private var written = -1

  mutating func add(_ change: Int, at time: UInt64) {
    let new = max(time >> Self.shift, floor)
    if new != bin { store() }
    bin = new
    sum += change
  }

  private mutating func store() {
    if sum != 0 { sums[bin, default: 0] += sum }
    sum = 0
  }

  /// Hands out the depth where it has changed, up to a window before `now`.
  mutating func settle(_ now: UInt64, everything: Bool = false, _ body: (_ time: UInt64, _ depth: Int) -> Void) {
    store()
    let end = everything ? UInt64.max : (now > Self.window ? now - Self.window : 0) >> Self.shift
    guard end > floor else { return }
    for key in sums.keys.filter({ $0 < end }).sorted() {
      // Items submitted before the first record are not known, so the sum may fall below 0; 0 is shown then.
      depth = max(0, depth + (sums.removeValue(forKey: key) ?? 0))
      if depth != written { body(key << Self.shift, depth) }
      written = depth
    }
    floor = end
  }
}
