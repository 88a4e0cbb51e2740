// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GrandCentral

@Suite("Places")
struct PlacesTests {
  private func engine(places count: Int) -> Engine.Pointer { BareEngine.make(places: count) }
  private func worker(_ engine: Engine.Pointer) -> Worker.Pointer { engine.pointee.workers.take() }

  // `#expect` takes no values that cannot be copied, so the tests call these functions.
  private func take(_ engine: Engine.Pointer, _ worker: Worker.Pointer) -> Bool { engine.pointee.takePlace(worker) }
  private func place(_ worker: Worker.Pointer) -> Int? { worker.pointee.place?.pointee.index }
  private func next(_ engine: Engine.Pointer, _ place: Place.Pointer) -> Job? {
    place.pointee.findWork(in: engine.pointee)
  }
  private func dequeue(_ place: Place.Pointer) -> Job? { place.pointee.dequeue(.normal) }
  private func filled(_ engine: Engine.Pointer) -> UInt64 { engine.pointee.places.filled.load(ordering: .relaxed) }

  /// A worker with a place.
  private func holder(_ engine: Engine.Pointer) -> (Worker.Pointer, Place.Pointer) {
    let worker = worker(engine)
    #expect(take(engine, worker))
    return (worker, worker.pointee.place!)
  }

  private func job(_ band: Band = .normal) -> Job { Job(invoke: { _ in }, flags: [], qos: 0, band: band, owner: nil) }

  @Test("E9: a worker takes a free place, then one whose holder is away, and none that is in use")
  func taking() {
    let engine = engine(places: 1)
    let (first, second) = (worker(engine), worker(engine))
    #expect(take(engine, first))
    #expect(place(first) == 0)
    #expect(!take(engine, second))

    first.pointee.waits.store(1, ordering: .relaxed)
    #expect(take(engine, second))
    #expect(place(second) == 0 && place(first) == nil)

    first.pointee.waits.store(0, ordering: .relaxed)
    #expect(!take(engine, first))
    second.pointee.status.store(Worker.Status.adrift, ordering: .relaxed)
    #expect(take(engine, first))
  }

  @Test("E9: a place where jobs wait is taken first")
  func preferring() {
    let engine = engine(places: 3)
    engine.pointee.places[1].pointee.enqueue(job(), in: engine.pointee)
    let worker = worker(engine)
    #expect(take(engine, worker))
    #expect(place(worker) == 1)
  }

  @Test("with fewer processors the workers that hold the last places lose them")
  func fewer() {
    let engine = engine(places: 2)
    let workers = [worker(engine), worker(engine)]
    for worker in workers { #expect(take(engine, worker)) }
    engine.pointee.setParallelism(1)
    #expect(workers.filter { place($0) == nil }.count == 1)
    engine.pointee.setParallelism(2)
    let count = engine.pointee.places.count
    #expect(count == 2)
  }

  @Test("E9: nothing is passed over: slot, own queue, run queue and other places' queues have their turns")
  func turns() {
    let engine = engine(places: 2)
    let (me, place) = holder(engine)
    let other = engine.pointee.places[1 - place.pointee.index]
    let (ordered, own, foreign, hop) = (job(), job(), job(), job())
    engine.pointee.submit(ordered)
    place.pointee.enqueue(own, in: engine.pointee)
    other.pointee.enqueue(foreign, in: engine.pointee)
    place.pointee.keep(hop, by: me, in: engine.pointee)
    var starts: [UnsafeMutableRawPointer: Int] = [:]
    // Each job makes itself runnable again where it came from.
    for _ in 0..<4 * 512 {
      guard let job = place.pointee.findWork(in: engine.pointee) else { break }
      starts[job.raw, default: 0] += 1
      switch job {
      case ordered: engine.pointee.submit(job)
      case own: place.pointee.enqueue(job, in: engine.pointee)
      case foreign: other.pointee.enqueue(job, in: engine.pointee)
      default: place.pointee.keep(job, by: me, in: engine.pointee)
      }
    }
    #expect(starts[hop.raw] ?? 0 > 1_024)
    for job in [ordered, own, foreign] { #expect(starts[job.raw] ?? 0 >= 4, "\(starts)") }
  }

  @Test("E9: after a tick of the monitor the next search goes past the slot")
  func passOverSlot() {
    let engine = engine(places: 1)
    let (me, place) = holder(engine)
    let (hop, ordered) = (job(), job())
    place.pointee.keep(hop, by: me, in: engine.pointee)
    engine.pointee.submit(ordered)
    place.pointee.passOverSlot()
    #expect(next(engine, place) == ordered)
    #expect(next(engine, place) == hop)
  }

  @Test("E9: a search that is told twice to go past the slot does so once, and the turns of those behind it go on")
  func toldTwice() {
    let place = holder(engine(places: 1)).1
    // As a search leaves it that has come by while there is no monitor (Vacancy.V1).
    place.pointee.searches.store(127, ordering: .relaxed)
    place.pointee.passOverSlot()
    let searches = place.pointee.searches.load(ordering: .relaxed)
    #expect(searches == 127)
  }

  @Test("Q6: after a tick of the monitor the next search does not go past the slot for less urgent work")
  func urgentSlot() {
    let engine = engine(places: 1)
    let (me, place) = holder(engine)
    let (urgent, ordered) = (job(.userInitiated), job(.utility))
    place.pointee.keep(urgent, by: me, in: engine.pointee)
    engine.pointee.submit(ordered)
    place.pointee.passOverSlot()
    #expect(next(engine, place) == urgent)
    #expect(next(engine, place) == ordered)
  }

  @Test("a thief takes half of what it finds, in order, and keeps the rest in its own place")
  func theft() {
    let engine = engine(places: 2)
    let (_, place) = holder(engine)
    let other = engine.pointee.places[1 - place.pointee.index]
    let jobs = (0..<9).map { _ in job() }
    for job in jobs { other.pointee.enqueue(job, in: engine.pointee) }
    #expect(next(engine, place) == jobs[0])
    let counts = [place.pointee.count(.normal), other.pointee.count(.normal)]
    #expect(counts == [4, 4])
    #expect(dequeue(place) == jobs[1])
  }

  @Test("the map of filled places says where to look, and loses nothing")
  func map() {
    let engine = engine(places: 70)
    for index in [3, 67] { engine.pointee.places[index].pointee.enqueue(job(), in: engine.pointee) }
    #expect(filled(engine) == 1 << 3)
    #expect(dequeue(engine.pointee.places[3]) != nil)
    engine.pointee.places.clearFilled(3)
    #expect(filled(engine) == 1 << 3, "place 67 shares the bit")
    let found = engine.pointee.places.search(from: 6) { $0.pointee.dequeue(.normal) }
    #expect(found != nil)
    engine.pointee.places.clearFilled(3)
    #expect(filled(engine) == 0)
  }
}

@Suite("Places that long jobs lose")
struct SlicesTests {
  private let tick: UInt64 = 1_000_000

  /// How many workers have lost their places after each of `ticks` in which no job is started.
  private func standstill(_ ticks: Int, places: Int, lanesWait: Bool) -> [Int] {
    var (slices, adrift) = (Slices(), 0)
    return (0..<ticks).map { _ in
      adrift += min(
        places,
        slices.mayDisplace(
          adrift: adrift, places: places, hasStarted: false, lanesWait: lanesWait, orderedTaken: 1, elapsed: tick))
      return adrift
    }
  }

  @Test("E9: a few may be adrift at any time, two to four", arguments: [(1, 2), (2, 2), (8, 2), (12, 3), (64, 4)])
  func few(places: Int, few: Int) {
    var slices = Slices()
    let most = slices.mayDisplace(
      adrift: 0, places: places, hasStarted: true, lanesWait: false, orderedTaken: 1, elapsed: tick)
    #expect(most == few)
    let more = slices.mayDisplace(
      adrift: few, places: places, hasStarted: true, lanesWait: true, orderedTaken: 2, elapsed: tick)
    #expect(more == 0)
  }

  @Test("E9: at a standstill with queues waiting, more each slice; 64 queues in less than three seconds")
  func queues() {
    let adrift = standstill(3_000, places: 2, lanesWait: true)
    #expect(adrift[0] == 2 && adrift[9] == 4 && adrift[29] == 8)
    #expect(adrift[2_000] > 62)
  }

  @Test("E9, E11: items of a global queue alone are given sixteen times as long")
  func items() {
    let adrift = standstill(600, places: 2, lanesWait: false)
    #expect(adrift[100] == 2 && adrift[160] == 4 && adrift[500] >= 8)
  }

  @Test("E11: where jobs end and others start, no more than a few")
  func ends() {
    var slices = Slices()
    for tick in 0..<10_000 {
      let most = slices.mayDisplace(
        adrift: 2, places: 2, hasStarted: tick % 9 == 0, lanesWait: true, orderedTaken: UInt64(tick / 9),
        elapsed: self.tick)
      #expect(most == 0)
    }
  }

  @Test("E9: items of a global queue are started although timers are, all the time")
  func besideTimers() {
    var (slices, displaced) = (Slices(), 0)
    for tick in 0..<1_000 {
      displaced += slices.mayDisplace(
        adrift: 2, places: 2, hasStarted: tick % 5 == 0, lanesWait: tick % 5 == 4, orderedTaken: 1, elapsed: self.tick)
    }
    #expect(displaced == 12, "every sixteen slices")
  }
}
