// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// How waits of a run end before their deadlines.
extension Run {
  /// A thread of the real world may wait for the word as well (World.U3). It is woken before another one may go on here, or this one
  /// stays.
  func wakeBoth(_ address: UnsafeRawPointer, _ count: Int) -> Int {
    if isLeft { _ = SimulationSupport.wakeOutside(address, count) }
    return visit { wake(address, count) }
  }

  func wake(_ address: UnsafeRawPointer, _ count: Int) -> Int {
    let woken = releaseSleepers(address, count)
    let outside = woken < count ? SimulationSupport.wakeOutside(address, count - woken) : 0
    if woken > 0 {
      countStep()
      // Where there is a point before each operation, those that have been woken go on at the next one.
      if !isFine { point() }
    }
    return woken + outside
  }

  /// Those that wait for the word can go on, up to so many.
  func releaseSleepers(_ address: UnsafeRawPointer, _ count: Int) -> Int {
    var woken = 0
    var index = 0
    while index < sleepers.count, woken < count {
      let sleeper = sleepers[index]
      if members[sleeper].wait == .word(address) {
        release(sleeper, wasWoken: true)
        woken += 1
      } else {
        index += 1
      }
    }
    return woken
  }

  private static let mostLooks = 8

  /// A worker that naps looks for what another one keeps for itself, so that each item that may begin does so at once.
  func endNaps() {
    if !hasBegun || isClosing || !SimulationSupport.hasUntaken { return looks = 0 }
    // A job has to be seen twice before another worker takes it.
    if looks >= Self.mostLooks { return orders.map { $0.lacks(.tooFewProcessors) } ?? () }
    looks += 1
    for number in members.indices where members[number].isIdle && members[number].deadline != .max {
      release(number, wasWoken: false)
    }
  }

  /// Where a worker that looks for jobs stands still with a job that it has found, or an event that it hands out, another one is to take what
  /// else there is.
  func addWorker() {
    if wantsWorker { SimulationSupport.addWorkerForUntaken() }
  }

  var wantsWorker: Bool { looks > 0 && looks < Self.mostLooks && !ready.contains { members[$0].isComing } }
}
