// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The names of a process's functions, from its list of mapped files and the files' symbols.
///
/// The list is read again when an address is in none of the files: libraries are loaded at any time. When the process has
/// ended, what was read last stays.
final class Symbols {
  private let writer: PerfettoWriter
  private let code: ProcessCode
  private var names: [UInt64: TraceName] = [:]
  private var last: (address: UInt64, name: TraceName) = (0, .none)
  /// Reading the list of files takes a while: not for each unknown address.
  private var nextReading: UInt64
  private static let pause: UInt64 = 200_000_000

  /// A limit above the number of any program's functions; a damaged region may have any number.
  private static let most = 1 << 18

  init(_ writer: PerfettoWriter, _ code: ProcessCode) {
    self.writer = writer
    self.code = code
    nextReading = RegionClock.now().uptime + Self.pause
  }

  /// The name of the function that begins at an address, or is around it; the address itself if it has none.
  func name(of address: UInt64) -> TraceName {
    if address == last.address, last.name != .none { return last.name }
    let name = names[address] ?? find(address)
    last = (address, name)
    return name
  }

  private func find(_ address: UInt64) -> TraceName {
    var mapping = code.mapping(of: address)
    if mapping == nil, address != 0, RegionClock.now().uptime >= nextReading {
      readMappings()
      mapping = code.mapping(of: address)
    }
    guard names.count < Self.most else { return writer.name("more functions") }
    let name = writer.name(text(address, mapping))
    // An address that may be known later is asked for again.
    if mapping != nil || address == 0 { names[address] = name }
    return name
  }

  private func text(_ address: UInt64, _ mapping: ProcessCode.Mapping?) -> String {
    if address == 0 { return "item" }
    return mapping.map { code.name(of: address, in: $0) } ?? "0x" + String(address, radix: 16)
  }

  /// Reads the list of files anew.
  func readMappings() {
    code.read()
    nextReading = RegionClock.now().uptime + Self.pause
  }
}
