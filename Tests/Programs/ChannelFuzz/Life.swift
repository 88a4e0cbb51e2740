// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// One life: some channels, what is done with them, and what must hold:
///
/// 1  Handlers of an operation come one after the other; the one with `done` once, and last. Errors come without data.
/// 2  Bytes come exactly, in order, none twice; what a write reports as left is what it has not written.
/// 3  A barrier runs when all has ended that was submitted before, to whichever channel of its file, and nothing has begun that came
///    after.
/// 4  The cleanup handler runs once, with the right error, when all operations have ended.
/// 5  Messages come as they were sent, none cut, none in two.
/// 6  All ends, by itself. Afterwards nothing holds a handler, though the channel may still be there, and the descriptor
///    is as it was.
final class Life: @unchecked Sendable {  // why: `random` and `kept` are the plan's, which is one thread
  let seed: UInt64
  /// Whether writes may meet a full disk.
  let isFilled: Bool
  let failures = Recorder<String>()
  /// Handlers that somebody holds.
  let handlers = Counter()
  /// Channels that have not been cleaned up yet.
  let uncleaned = Counter()
  /// What must be over when the life is.
  let unended = Counter()
  let queues: [DispatchQueue]
  private(set) var story = ""
  var random: SeededRandom
  private var kept: [Member] = []

  init(seed: UInt64, isFilled: Bool) {
    self.seed = seed
    self.isFilled = isFilled
    random = SeededRandom(seed: seed)
    queues = [
      DispatchQueue(label: "serial"), .global(), DispatchQueue(label: "concurrent", attributes: .concurrent),
      .global(qos: .utility),
    ]
  }

  var queue: DispatchQueue { queues[random.below(queues.count)] }

  func fail(_ text: String) { failures.note(text) }

  func run() {
    let plans: [(String, (Life) -> () -> () -> Void)] = [
      ("pair", { $0.pair }), ("pair", { $0.pair }), ("file", { $0.randomFile }), ("stream file", { $0.streamFile }),
      ("device", { $0.device }), ("path", { $0.brokenPath }), ("singles", { $0.singles }),
      ("messages", { $0.sentMessages }), ("messages", { $0.readMessages }),
    ]
    let (name, plan) = plans[random.below(plans.count)]
    story = name
    let check = plan(self)()
    // The guard against a hang.
    if !eventually(seconds: 60, { uncleaned.value == 0 && unended.value == 0 }) {
      return fail("\(uncleaned.value) channels and \(unended.value) operations do not end")
    }
    check()
    // Half of the channels are still there.
    if random.oneIn(2) { kept = [] }
    if !eventually(seconds: 60, { handlers.value == 0 }) { fail("\(handlers.value) handlers are held") }
    kept = []
  }

  func tell(_ more: String) { story += ", " + more }

  /// Keeps the channel to the end of the life; a channel that is not kept may go at once.
  func keep(_ member: Member) { kept.append(member) }
}

/// Held by each handler: it goes when the last handler goes.
final class Token: Sendable {
  private let handlers: Counter

  init(_ life: Life) {
    handlers = life.handlers
    handlers.add()
  }

  func visit() {}

  deinit { handlers.add(-1) }
}

/// Several descriptors of one open file, that the last channel on them closes.
final class Family: Sendable {
  let descriptors: [Int32]
  private let flags: Int32
  private let members: Counter

  init(_ descriptors: [Int32], members: Int) {
    self.descriptors = descriptors
    flags = fcntl(descriptors[0], F_GETFL)
    self.members = Counter(members)
  }

  func leave(_ life: Life) {
    if members.add(-1) > 0 { return }
    let now = fcntl(descriptors[0], F_GETFL)
    if now != flags { life.fail("flags \(String(now, radix: 8)), before \(String(flags, radix: 8))") }
    for descriptor in descriptors { close(descriptor) }
  }
}

/// A channel in a life.
final class Member: @unchecked Sendable {  // why: what is not atomic is the plan's
  let life: Life
  let isByPath: Bool
  private(set) var io: DispatchIO!
  private let cleanups = Counter()
  /// Those of all channels of the file.
  private let (submitted, ended, allStops): (Counter, Counter, Counter)
  private(set) var isClosed = false
  private let stops = Counter()
  var isStopped: Bool { stops.value > 0 }
  private(set) var highWater = 1 << 20
  private var isStrict = false

  /// `make` gets the queue and the handler for the clean-up, which must be called with `error`.
  ///
  /// - Parameter kin: Another channel of the same file.
  init(
    _ life: Life, error: Int32 = 0, _ family: Family? = nil, isByPath: Bool = false, kin: Member? = nil,
    _ make: (DispatchQueue, @escaping @Sendable (Int32) -> Void) -> DispatchIO?
  ) {
    self.life = life
    self.isByPath = isByPath
    (submitted, ended, allStops) = (
      kin?.submitted ?? Counter(), kin?.ended ?? Counter(), kin?.allStops ?? Counter()
    )
    life.uncleaned.add()
    let token = Token(life)
    let (submitted, ended, cleanups) = (submitted, ended, cleanups)
    io = make(life.queue) { found in
      token.visit()
      if cleanups.add() != 1 { life.fail("a second clean-up") }
      if found != error { life.fail("clean-up with \(found), not \(error)") }
      if error == 0, ended.value != submitted.value {
        life.fail("clean-up after \(ended.value) of \(submitted.value) operations")
      }
      family?.leave(life)
      life.uncleaned.add(-1)
    }
    life.keep(self)
  }

  func setLimits() {
    if life.random.oneIn(2) {
      highWater = 1 + life.random.below(20_000)
      io.setLimit(highWater: highWater)
    }
    if life.random.oneIn(3) {
      let low = 1 + life.random.below(3_000)
      highWater = max(highWater, low)
      io.setLimit(lowWater: low)
    }
    if life.random.oneIn(3) {
      isStrict = life.random.oneIn(2)
      io.setInterval(interval: .microseconds(200 + life.random.below(500)), flags: isStrict ? .strictInterval : [])
    }
  }

  /// A read; `take` gets what comes, on the handler's queue.
  func read(
    at offset: Int = 0, _ length: Int, on queue: DispatchQueue, errors: Set<Int32>,
    take: @escaping @Sendable (DispatchData, _ done: Bool, Int32) -> Void
  ) {
    let call = begin(errors)
    let (life, highWater, total) = (life, highWater, Unprotected(0))
    io.read(offset: offset, length: length, queue: queue) { done, data, error in
      call.enter(done, error)
      let count = data?.count ?? 0
      total.value += count
      if count > highWater { life.fail("a call of \(count) bytes, high water \(highWater)") }
      if total.value > length { life.fail("\(total.value) bytes of \(length)") }
      if (error != 0) != (data == nil) { life.fail("read: error \(error), data \(data.map { $0.count } ?? -1)") }
      take(data ?? .empty, done, error)
      call.leave(done)
    }
  }

  /// A write; `over` gets how many bytes were written.
  func write(
    at offset: Int = 0, _ bytes: [UInt8], on queue: DispatchQueue, errors: Set<Int32>,
    over: @escaping @Sendable (Int, Int32) -> Void
  ) {
    let call = begin(errors)
    let (life, left) = (life, Unprotected(bytes.count))
    let data = Member.data(bytes, pieces: life.random.oneIn(3) ? 1 + life.random.below(40) : 1)
    io.write(offset: offset, data: data, queue: queue) { done, rest, error in
      call.enter(done, error)
      let count = rest?.count ?? 0
      if count > left.value { life.fail("\(count) bytes are left, before \(left.value)") }
      left.value = count
      if let rest, !rest.elementsEqual(bytes.suffix(count)) { life.fail("other bytes are left than there were") }
      if done, error == 0, rest != nil { life.fail("a rest without an error") }
      if error != 0, rest == nil { life.fail("error \(error) without a rest") }
      if done { over(bytes.count - count, error) }
      call.leave(done)
    }
  }

  private func begin(_ errors: Set<Int32>) -> Call {
    let isLate = isClosed
    if !isLate { submitted.add() }
    return Call(life, isLate ? [ECANCELED] : errors, isLate ? Counter() : ended)
  }

  /// Counts the handlers of an operation.
  final class Call: Sendable {
    private let (inside, dones) = (Counter(), Counter())
    private let (life, errors, ended, token): (Life, Set<Int32>, Counter, Token)

    init(_ life: Life, _ errors: Set<Int32>, _ ended: Counter) {
      (self.life, self.errors, self.ended, token) = (life, errors, ended, Token(life))
      life.unended.add()
    }

    func enter(_ done: Bool, _ error: Int32) {
      if inside.add() != 1 { life.fail("two handlers at once") }
      if dones.value != 0 { life.fail("a call after the last one") }
      if done { dones.add() }
      if !done, error != 0 { life.fail("error \(error) before the end") }
      if error != 0, !errors.contains(error) { life.fail("error \(error), expected one of \(errors.sorted())") }
    }

    func leave(_ done: Bool) {
      inside.add(-1)
      if !done { return }
      ended.add()
      life.unended.add(-1)
    }
  }

  func barrier() {
    let (ended, stops, before, token, life) = (ended, allStops, submitted.value, Token(life), life)
    life.unended.add()
    io.barrier {
      token.visit()
      let count = ended.value
      // Operations of another channel that is stopped wait for no barrier.
      if count < before || count > before && stops.value == 0 {
        life.fail("a barrier after \(count) of \(before) operations")
      }
      life.unended.add(-1)
    }
  }

  func close(stop: Bool) {
    isClosed = true
    if stop {
      stops.add()
      allStops.add()
    }
    io.close(flags: stop ? .stop : [])
  }

  /// Suspends and resumes: nothing is lost.
  func pause() {
    io.suspend()
    if life.random.oneIn(2) { sched_yield() }
    io.resume()
  }

  /// The bytes, of several regions: bytes alone that are appended would go into the region before.
  static func data(_ bytes: [UInt8], pieces: Int) -> DispatchData {
    var (data, place) = (DispatchData.empty, 0)
    for piece in 0..<pieces {
      let end = piece == pieces - 1 ? bytes.count : place + (bytes.count - place) / (pieces - piece)
      bytes[place..<end].withUnsafeBytes { data.append(DispatchData(bytes: $0)) }
      place = end
    }
    let regions = data.regions.reduce(0) { count, _ in count + 1 }
    precondition(regions == min(pieces, bytes.count), "\(regions) regions")
    return data
  }
}
