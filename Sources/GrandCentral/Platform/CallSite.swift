// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Where the program has called the library, for reports.
struct CallSite {
  /// The address that the call returns to.
  let address: UInt
  /// The calling function, and its file and the place in it.
  let description: String

  /// Whether the calling thread runs a task of Swift Concurrency.
  static var isInTask: Bool { gc_in_task() }

  /// The calls that the thread is inside, innermost first, as addresses.
  @_optimize(size)
  static func trace(limit: Int) -> [UInt] {
    withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: limit) { room in
      // unsafe: as many addresses as there is room for.
      let count = Int(gc_call_sites(room.baseAddress, Int32(truncatingIfNeeded: limit)))
      return (0..<max(0, count)).map { UInt(bitPattern: room[$0]) }
    }
  }

  /// The first of the calls that the library has not made itself; in a program without names, the outermost.
  @_optimize(size)
  static func outside(_ trace: [UInt]) -> CallSite? {
    var isInside = false
    for address in trace {
      // The address before the one that the call returns to: a call may be the last instruction of its function.
      let (name, place) = describe(address - 1)
      if isOurs(name) || gc_is_in_own_library(address - 1) {
        isInside = true
      } else if isInside {
        return CallSite(address, name, place)
      }
    }
    guard !isInside, let last = trace.last else { return nil }
    return CallSite(last, "", describe(last - 1).place)
  }

  private init(_ address: UInt, _ name: String, _ place: String) {
    self.address = address
    description = name.isEmpty ? place : Self.demangled(name) + " (" + place + ")"
  }

  /// Whether the function is ours, or one of the standard library's that is compiled into the program under its own name.
  @_optimize(size)
  private static func isOurs(_ name: String) -> Bool {
    for prefix in ["$s12GrandCentral", "gc_", "$ss", "$sS", "$s8Dispatch"] where name.utf8.starts(with: prefix.utf8) {
      return true
    }
    return false
  }

  private static let room = 2048

  @_optimize(size)
  private static func describe(_ address: UInt) -> (name: String, place: String) {
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: room)
    let place = UnsafeMutablePointer<CChar>.allocate(capacity: room)
    defer {
      name.deallocate()
      place.deallocate()
    }
    let size = Int32(truncatingIfNeeded: room)
    _ = gc_describe_code(UnsafeRawPointer(bitPattern: address), name, size, place, size)
    return (String(cString: name), String(cString: place))
  }

  @_optimize(size)
  private static func demangled(_ name: String) -> String {
    let words = UnsafeMutablePointer<CChar>.allocate(capacity: room)
    defer { words.deallocate() }
    var count = 0
    for byte in name.utf8.prefix(room - 1) {
      words[count] = CChar(bitPattern: byte)
      count += 1
    }
    words[count] = 0
    gc_demangle(words, Int32(truncatingIfNeeded: room))
    return String(cString: words)
  }
}
