// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("Calls that the monitor looks after")
struct ApplyHelpRegistryTests {
  /// What a caller has on its stack: the function that looks after the call, then what has become of it.
  private struct Call {
    let help: ApplyHelpRegistry.Help = { raw in
      let call = raw.assumingMemoryBound(to: Call.self)
      #expect(call.pointee.isInside, "the monitor touches the memory of a caller that has returned")
      call.pointee.helped += 1
      return call.pointee.again
    }
    let again: Bool
    var isInside = false
    var place: Int?
    var helped = 0
  }

  /// Some callers and the monitor, all driven by one thread: each step is one that the real ones make at once.
  private final class World {
    let registry = ApplyHelpRegistry()
    let calls: UnsafeMutablePointer<Call>
    let count: Int

    /// - Parameter again: Whether the monitor puts a call back.
    init(_ count: Int, again: Bool = false) {
      self.count = count
      calls = .allocate(capacity: count)
      for index in 0..<count { (calls + index).initialize(to: Call(again: again)) }
    }

    deinit {
      calls.deinitialize(count: count)
      calls.deallocate()
    }

    /// Enters if the caller is outside, else leaves.
    func step(_ caller: Int, _ schedule: @autoclosure () -> String) {
      let call = calls + caller
      guard call.pointee.isInside else {
        call.pointee.isInside = true
        call.pointee.helped = 0
        call.pointee.place = registry.enter(UnsafeMutableRawPointer(call))
        #expect(call.pointee.place != nil, "a place for each of few callers: \(schedule())")
        return
      }
      registry.leave(call.pointee.place!, UnsafeMutableRawPointer(call))
      #expect(call.pointee.again || call.pointee.helped <= 1, "looked after when dismissed: \(schedule())")
      call.pointee.isInside = false
    }

    var isEmpty: Bool { registry.isEmpty }

    var isAnybodyThere: Bool {
      (0..<count).contains { calls[$0].isInside && (calls[$0].again || calls[$0].helped == 0) }
    }
  }

  @Test("Q16: a caller that the monitor has dismissed leaves the next one in the same place registered")
  func nextInTheSamePlace() {
    let world = World(2)
    world.step(0, "first enters")
    _ = world.registry.helpLingering()
    _ = world.registry.helpLingering()
    #expect(world.calls[0].helped == 1)
    world.step(1, "second enters")
    #expect(world.calls[0].place == world.calls[1].place, "the place was free again")
    world.step(0, "first leaves")
    #expect(!world.isEmpty, "the second is still registered")
    world.step(1, "second leaves")
    #expect(world.isEmpty)
  }

  @Test(
    "Q16: every schedule of three callers and the monitor, which dismisses calls or puts them back",
    arguments: [false, true])
  func everySchedule(again: Bool) {
    let (callers, length) = (3, 7)
    let choices = callers + 1
    let schedules = (0..<length).reduce(1) { count, _ in count * choices }
    let world = World(callers, again: again)
    for number in 0..<schedules {
      var rest = number
      for _ in 0..<length {
        let choice = rest % choices
        rest /= choices
        if choice < callers {
          world.step(choice, "schedule \(number)")
        } else {
          _ = world.registry.helpLingering()
        }
      }
      if world.registry.isEmpty == world.isAnybodyThere { Issue.record("schedule \(number): they are registered") }
      for caller in 0..<callers where world.calls[caller].isInside { world.step(caller, "end of schedule \(number)") }
    }
  }

  @Test("Q16: the sixty-fifth caller at once has no place")
  func noPlace() {
    let world = World(65)
    for caller in 0..<64 { world.step(caller, "caller \(caller)") }
    #expect(world.registry.enter(UnsafeMutableRawPointer(world.calls + 64)) == nil)
    for caller in 0..<64 { world.step(caller, "caller \(caller)") }
    #expect(world.isEmpty)
  }
}
