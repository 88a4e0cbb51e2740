// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Synchronization

@testable import GrandCentral

/// A raw address that a test hands from thread to thread by hand.
struct Address: @unchecked Sendable {  // why: what it leads to is ordered by the structure under test
  let raw: UnsafeMutableRawPointer
  init(_ raw: UnsafeMutableRawPointer) { self.raw = raw }
}

/// A number as a pointer, for structures that do not follow it.
func pointer(_ number: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 16 * (number + 1))! }
func number(_ pointer: UnsafeMutableRawPointer) -> Int { Int(bitPattern: pointer) / 16 - 1 }

/// Repeats `round` until the time for a stress test is up, at least once.
func rounds(_ round: () -> Void) {
  let deadline = Stress.deadline()
  repeat { round() } while Stress.runs(until: deadline)
}

/// Nodes of four words with a producer and a sequence number behind the two words that a list may use.
enum Numbered {
  static func make(_ producer: Int, _ sequence: Int) -> UnsafeMutableRawPointer {
    let node = Magazine.take()
    node.storeBytes(of: producer, toByteOffset: 16, as: Int.self)
    node.storeBytes(of: sequence, toByteOffset: 24, as: Int.self)
    return node
  }
  static func producer(_ node: UnsafeMutableRawPointer) -> Int { node.load(fromByteOffset: 16, as: Int.self) }
  static func sequence(_ node: UnsafeMutableRawPointer) -> Int { node.load(fromByteOffset: 24, as: Int.self) }
}
