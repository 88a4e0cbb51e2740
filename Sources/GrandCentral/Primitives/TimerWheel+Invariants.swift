// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if DEBUG
  extension TimerWheel {
    /// The first invariant that does not hold, or nil.
    ///
    /// Complexity: O(n)
    borrowing func brokenInvariant() -> String? {
      var total = 0
      for index in 0...Self.levels * 64 {
        if let broken = brokenInvariant(ofList: index, &total) { return "list " + String(index) + ": " + broken }
      }
      return total == count ? nil : "count"
    }

    private borrowing func brokenInvariant(ofList index: Int, _ total: inout Int) -> String? {
      let isLevelled = index < Self.levels * 64
      let isMoving = state.pointee.left > 0 && state.pointee.moving == index
      var length = 0
      var soonest = UInt64.max
      var previous: Entry?
      var next = lists[index].first
      while let entry = next {
        if entry.pointee.previous != previous || Int(entry.pointee.list) != index { return "links" }
        if isLevelled, !isMoving, !belongs(entry.pointee.instant, index) { return "T1" }
        soonest = min(soonest, entry.pointee.instant)
        length += 1
        previous = entry
        next = entry.pointee.next
      }
      total += length
      if lists[index].last != previous || lists[index].count != length { return "length" }
      if isLevelled, (occupied[index / 64] &>> UInt64(index % 64)) & 1 != (length > 0 ? 1 : 0) { return "T2" }
      if isMoving { return min(lists[index].soonest, state.pointee.movingSoonest) > soonest ? "T5, bound" : nil }
      if lists[index].soonest > soonest { return "T3, bound" }
      if lists[index].isExact, length > 0, lists[index].soonest != soonest { return "T3, minimum" }
      return nil
    }

    private borrowing func belongs(_ instant: UInt64, _ index: Int) -> Bool {
      let shift = Self.grain + UInt64(index / 64) * 6
      let (digits, passed) = (instant >> shift, state.pointee.elapsed >> shift)
      if digits >> 6 != passed >> 6 || digits & 63 != UInt64(index % 64) { return false }
      return index < 64 ? digits >= passed : digits > passed
    }
  }
#endif
