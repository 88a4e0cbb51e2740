// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What a channel hands to its operations when they begin.
struct IOLimits {
  /// The least that is worth a call of the handler; 0 for whatever there is.
  var lowWater = 0
  /// The most that one call of the handler brings.
  var highWater = IOLimits.defaultHighWater
  /// Nanoseconds; 0 for none.
  var interval: UInt64 = 0
  var isStrict = false

  static let defaultHighWater = 1 << 20

  /// What a read gathers before it is delivered without being asked for.
  var quantum: Int { min(highWater, max(lowWater, IOBuffers.size)) }
  /// What a write writes before its progress is reported.
  var progress: Int { lowWater > 0 ? lowWater : highWater }
  /// What a write hands to the kernel at once.
  var portion: Int { min(highWater, 1 << 20) }
}

/// One read or write: it gathers or gives away bytes, step by step, and delivers to its handler. IOState.swift says which code
/// may do what.
///
///     join ─► turn ─► transfer ─┬─ nothing there ─► wait, kicked by readiness
///                               ├─ may take long ─► a request, kicked by its result
///                               ├─ handler still out ─► kicked by its return
///                               └─ end, error, all done ─► the turn goes on ─► last delivery ─► the channel counts
///
/// **Memory.** A read holds at most the high water mark while it gathers, and as much again while the handler has it:
/// it does not go on while both are full. A write goes on beside a handler that is out, and tells of each high water mark
/// afterwards. Of a file that keeps messages, the buffers may take four times their bytes (IOOperation.M1).
///
/// **Wholes.** Where the kernel takes each write for a message of its own, the program's data must be one write: see
/// IOOperation.W1.
///
/// **Pace.** As long as the handler takes less time than waking another thread would, reading goes on after it has returned,
/// on the same thread and into the same buffer, which is still in the processor's cache. Beside a slower handler the operation
/// reads ahead.
final class IOOperation: @unchecked Sendable {  // see IOState.swift
  typealias Direction = IOFile.Direction
  typealias Handler = (Bool, DispatchData?, Int32) -> Void

  /// How the operation stands in its file's turns.
  enum Place { case none, waits, hasTurn, left }

  /// Bytes to write that are worth copying (IOOperation.W1).
  private static let smallPortion = 64 << 10
  /// Bytes that one step moves before others have theirs.
  static let budget = 4 << 20

  let state = AtomicState<IOState>(IOState(rawValue: 0))
  let direction: Direction
  let isRandom: Bool
  let limits: IOLimits
  let qos: QoSWord
  /// The queue of its handler, or that queue's target, if it runs one item at a time; 0 for none. For comparisons.
  let serialQueue: UInt
  /// Ends with what is there rather than wait for more.
  let takesWhatIsThere: Bool
  /// The step's alone, shed when the last handler has returned.
  @exclusivity(unchecked) var file: IOFile?
  @exclusivity(unchecked) var channel: IOChannel?
  @exclusivity(unchecked) var queue: DispatchQueue?
  @exclusivity(unchecked) var handler: Handler?
  /// The step's alone.
  @exclusivity(unchecked) var offset: Int64
  @exclusivity(unchecked) var remaining: Int
  /// The step's alone: the error number that the operation ends with, or 0; nil while it goes on.
  @exclusivity(unchecked) var outcome: Int32?
  @exclusivity(unchecked) var isFinished = false
  /// The step's alone: it transfers no more, and its handler was out then (see IOFile).
  @exclusivity(unchecked) var trails = false
  /// The step's alone: the file had no more.
  @exclusivity(unchecked) var isAtEnd = false
  /// The step's alone, reading: what was read and not delivered: whole buffers, and one that is being filled.
  @exclusivity(unchecked) var gathered = DispatchData.empty
  @exclusivity(unchecked) var gatheredCount = 0
  @exclusivity(unchecked) var buffer: UnsafeMutableRawPointer?
  @exclusivity(unchecked) var used = 0
  /// The step's alone, writing: what is left; what was left at the last report, and how much of that was written since.
  @exclusivity(unchecked) var rest = DispatchData.empty
  @exclusivity(unchecked) var reported = DispatchData.empty
  @exclusivity(unchecked) var unreported = 0
  /// The step's alone, writing: bytes at the beginning of `rest` that were copied into one region.
  @exclusivity(unchecked) var joined = 0
  /// The submitter's, then the step's: bytes to write that the channel's entry in the insight region counts.
  @exclusivity(unchecked) var shownBytes = 0
  /// The step's alone.
  @exclusivity(unchecked) var yields = false
  @exclusivity(unchecked) var request: IORequest?
  /// The step's alone: a request that still needs the operation's turn.
  @exclusivity(unchecked) var abandoned: IORequest?
  @exclusivity(unchecked) var ticker: IOTicker?
  /// The delivery's: set by the step before `out`, taken by the handler's job.
  @exclusivity(unchecked) var delivery: (done: Bool, data: DispatchData?, error: Int32) = (false, nil, 0)
  /// The handler's while it is out, then the step's: whether it takes long enough to read ahead meanwhile.
  @exclusivity(unchecked) var readsAhead = false
  /// Guarded by the file's lock.
  @exclusivity(unchecked) var place = Place.none
  @exclusivity(unchecked) var next: IOOperation?
  @exclusivity(unchecked) var previous: Borrowed<IOOperation>?
  /// Guarded by the file's lock: the one whose first call waits for this one's last.
  @exclusivity(unchecked) var behind: IOOperation?
  /// Guarded by the file's lock: the barrier behind which it waits in its channel's gate (IOBarriers.F2).
  @exclusivity(unchecked) var ticket: Int?
  /// Guarded by the file's lock: why the file could not be opened when this operation wanted it; 0 if it was not tried,
  /// or could.
  @exclusivity(unchecked) var openError: Int32 = 0
  /// Guarded by the channel's lock: its place among the channel's operations; whether it is past the barriers. Once operations are not
  /// carried out: whether it is chained, to the next ones of its order that have started, sooner and later.
  @exclusivity(unchecked) var older: IOOperation?
  @exclusivity(unchecked) var newer: Borrowed<IOOperation>?
  @exclusivity(unchecked) var sooner: Borrowed<IOOperation>?
  @exclusivity(unchecked) var later: Borrowed<IOOperation>?
  @exclusivity(unchecked) var isChained = false
  @exclusivity(unchecked) var hasStarted = false

  init(
    _ direction: Direction, offset: Int64?, length: Int, limits: IOLimits, file: IOFile?, channel: IOChannel?,
    queue: DispatchQueue, takesWhatIsThere: Bool = false, handler: @escaping Handler
  ) {
    self.direction = direction
    isRandom = offset != nil
    self.offset = offset ?? FileReading.Offset.position
    remaining = length
    self.limits = limits
    self.file = file
    self.channel = channel
    self.queue = queue
    self.takesWhatIsThere = takesWhatIsThere
    self.handler = handler
    qos = queue.submissionQoS
    var serial = queue.kind.runsSeveral ? 0 : queue.reference.bits
    if queue.kind.hasReaders { queue.withTarget { if !$0.kind.runsSeveral { serial = $0.reference.bits } } }
    serialQueue = serial
  }

  // MARK: Kicks

  /// Something has happened.
  @inline(__always)
  func kick(_ bits: UInt64 = 0, clearing cleared: UInt64 = 0) {
    if state.update({ $0.kick(bits, clearing: cleared) }) == .send { send(Owned(self).give()) }
  }

  @inline(never)
  func kickSlow(_ bits: UInt64 = 0) { kick(bits) }

  /// Its handler is called when another operation lets it. Before the kick that brings the turn.
  func stayBehind() { state.update { $0.rawValue |= IOState.behind } }

  /// It is not carried out. A kick follows.
  @inline(never)
  func hearOfStop() { state.update { $0.rawValue |= IOState.cancelled } }

  /// As `kick`, but the step is the caller's: for an operation that ends, and never had a turn.
  func kickHere() {
    if state.update({ $0.kick(0) }) == .send { Self.takeStep(Owned(self).give()) }
  }

  /// As `kick`, and takes over a reference. Nothing else may be done under the descriptor table's lock: an operation that
  /// has finished has shed whatever would do something when it goes.
  static func kickRetained(_ reference: Borrowed<IOOperation>) {
    let isOurs = reference.use { operation in
      let isOurs = operation.state.update { $0.kick(0) } == .send
      if isOurs { operation.send(reference) }
      return isOurs
    }
    if !isOurs { reference.giveBack() }
  }

  private func send(_ reference: Borrowed<IOOperation>) {
    let job = Job(invoke: IOOperation.step, qos: qos.rawValue, band: qos.band, owner: reference.word)
    Engine.current.submitUnordered(job)
  }

  private static let step: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the job holds a reference.
    let operation = Borrowed<IOOperation>(word: job.owner!)
    job.recycle()
    takeStep(operation)
  }

  private static func takeStep(_ operation: Borrowed<IOOperation>) {
    operation.use { operation in
      repeat {
        operation.advance(operation.state.update { $0.begin() })
        if operation.yields { return operation.resend() }
      } while operation.state.update { $0.end() } == .again
      Borrowed(operation).giveBack()
    }
  }

  /// It has had its share: behind the others, still as its step.
  private func resend() {
    yields = false
    Engine.current.submitBehind(
      Job(
        invoke: IOOperation.step, qos: qos.rawValue, band: qos.band, owner: Borrowed(self).word))
  }

  // MARK: The step

  private func advance(_ seen: IOState) {
    if isFinished { return }
    if seen.has(IOState.landed) { land() }
    if seen.has(IOState.cancelled) { cancel() }
    if seen.has(IOState.ticked) { tick() }
    if direction == .write { report() }
    if request != nil {
      if seen.has(IOState.cancelled) { awaitResult() }
      return
    }
    if outcome != nil, waitsToEnd(seen) { return }
    guard outcome == nil, let file else { return finish() }
    if !seen.has(IOState.turn) { return }
    if remaining == 0 {
      // An operation with nothing to do needs no open file.
      outcome = 0
      return finish()
    }
    switch file.readiness(for: self) {
    case .later: return
    case .failed(let error):
      outcome = error
      channel?.fail(error)
      return finish()
    case .open: break
    }
    if ticker == nil, limits.interval != 0 { startTicking() }
    if file.wait(direction).isWaiting(self) {
      if direction == .read { deliverWhatIsDue() }
      return
    }
    noteWait(false)
    if direction == .read { read(from: file) } else { write(to: file) }
    finish()
  }

  /// A read or write has failed. An operation that belongs to no channel does not spoil the descriptor for others.
  func fail(_ error: Errno) {
    outcome = error.code
    if error == .badDescriptor, channel != nil { file?.spoil(error) }
  }

  // MARK: Waiting

  /// Nothing more to do until the descriptor is ready; false if the operation waits for that.
  func wait(_ file: IOFile) -> Bool {
    if direction == .read {
      if takesWhatIsThere, gatheredCount > 0 {
        outcome = 0
        return true
      }
      deliverWhatIsDue()
      dropBuffer()
    }
    switch file.wait(direction).wait(self, file.rawDescriptor, direction) {
    case .waits:
      noteWait(true)
      return false
    case .alwaysReady:
      // relaxed: a note; the next attempt finds out what that means.
      file.isAlwaysReady.store(true, ordering: .relaxed)
      return true
    case .failed(let error):
      if error.isShortage {
        // The kernel cannot watch one more now.
        tickLater(error)
        return false
      }
      outcome = error.code
      return true
    }
  }

  // MARK: Writing

  private func write(to file: IOFile) {
    var budget = Self.budget
    while outcome == nil {
      if remaining == 0 {
        outcome = 0
        return
      }
      let result = withSpans { spans, count -> IOFile.Transfer in
        let result = file.write(spans, count, at: offset)
        switch result {
        case .later where !isRandom: return result
        case .slow, .later:
          start(file, spans, count)
          return .slow
        default: return result
        }
      }
      switch result {
      case .moved(let count):
        accountWritten(count)
        budget -= count
        report()
        if budget <= 0, remaining > 0 {
          yields = true
          return
        }
      case .slow: return
      case .end: return
      case .later: if !wait(file) { return }
      case .failed(let error): fail(error)
      }
    }
  }

  func accountWritten(_ count: Int) {
    if InsightLayout.switches != 0 || shownBytes != 0 { noteWritten(count) }
    remaining -= count
    unreported += count
    joined = max(0, joined - count)
    if isRandom { offset += Int64(count) }
    rest = remaining == 0 ? .empty : rest.subdata(in: count..<count + remaining)
  }

  /// The first regions of what is left.
  private func withSpans<R>(_ body: (UnsafeMutablePointer<IOSpan>, Int) -> R) -> R {
    withUnsafeTemporaryAllocation(of: IOSpan.self, capacity: IORequest.mostSpans) { spans in
      // unsafe: the temporary memory is not empty; spans are trivial; regions stay where they are as long as the data.
      let start = spans.baseAddress.unsafelyUnwrapped
      let portion = min(limits.portion, joined > 0 ? joined : remaining)
      var (count, covered) = (0, 0)
      while covered < portion, count < IORequest.mostSpans {
        start[count] = span(at: covered, portion - covered)
        covered += start[count].count
        count += 1
      }
      // IOOperation.W1  Regions that go to the kernel together reach it by one call, so that a message or a record stays one:
      //     those of a small portion are copied into one region, for some files take each region for a write of its own;
      //     those of a larger one if one call has no room for as many. What is left of them is not copied once more.
      if count > 1, portion <= Self.smallPortion || covered < portion {
        join(portion)
        start[0] = span(at: 0, portion)
        count = 1
      }
      return body(start, count)
    }
  }

  private func span(at place: Int, _ most: Int) -> IOSpan {
    let span = rest.span(at: place)
    return IOSpan(start: UnsafeMutableRawPointer(mutating: span.start), count: min(span.count, most))
  }

  /// Copies the next bytes into one region.
  @inline(never)
  private func join(_ portion: Int) {
    let rest = rest
    var whole = DataRegion.make(count: portion) { rest.copy(to: $0, from: 0, count: portion) }
    if portion < remaining { whole.append(rest.subdata(in: portion..<remaining)) }
    self.rest = whole
    joined = portion
  }
}
