// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// What a handler is called with, and when.
extension IOOperation {
  /// Nanoseconds of a handler beside which another thread is worth waking.
  private static let longHandler: UInt64 = 30_000

  /// Whether the handler can be called now; it is kicked when that has changed.
  private var mayDeliver: Bool { !state.load().has(IOState.out | IOState.behind) && channel?.isSuspended != true }

  /// Sends what was gathered, or what is left to write; false if the handler is out.
  func deliver() -> Bool {
    if !mayDeliver { return false }
    deliverNow()
    return true
  }

  /// As `deliver`; false, too, if the handler's return is to be waited for: see the pace.
  func deliverAndGoOn() -> Bool {
    if !mayDeliver { return false }
    // The handler is back, and the next one is not on its way yet.
    let readsAhead = readsAhead
    deliverNow()
    return readsAhead
  }

  private func deliverNow() {
    if direction == .write { moveReport(unreported) }
    send(false, direction == .read ? takeGathered() : reported, 0)
  }

  /// The submitter: what is to be written.
  func begin(with data: DispatchData) {
    rest = data
    reported = data
  }

  /// Tells how far a write has come, if that is worth a call.
  func report() {
    if unreported >= limits.progress, remaining > 0 { _ = deliver() }
  }

  /// The next report is about `written` bytes more, or about as many as one call may bring.
  private func moveReport(_ written: Int) {
    let count = min(written, limits.highWater)
    unreported -= count
    reported = unreported == 0 ? rest : reported.subdata(in: count..<reported.count)
  }

  /// Nothing more is there to read: delivers what is worth it.
  func deliverWhatIsDue() {
    if gatheredCount > 0, gatheredCount >= limits.lowWater { _ = deliver() }
  }

  /// A stream's operations that are stopped end in their order (IOChannel.B5).
  func waitsToEnd(_ seen: IOState) -> Bool {
    seen.has(IOState.cancelled) && !seen.has(IOState.turn | IOState.mayEnd)
  }

  /// Ends the operation, if it has come to that and the handler is back. If the handler is out, the operation trails.
  func finish() {
    guard let error = outcome else { return }
    guard sendsLast(error) else { return trail() }
    isFinished = true
    ticker?.end()
    ticker = nil
    let (file, isSingle, trailed) = (file, channel == nil, trails)
    if !trailed { waitNoMore() }
    let (data, abandoned) = (lastData(error), abandoned)
    self.abandoned = nil
    dropBuffer()
    // The descriptor is the caller's again when the handler is called.
    if let file, isSingle { IOScheduler.shared.files.leave(file) }
    // The next operation's first call comes behind this one. What follows touches nothing that the handler sheds.
    send(true, data, error)
    if trailed { file?.trailNoMore(self) } else if abandoned?.endsTurn() != false { file?.leave(self) }
  }

  /// Whether the last call is due now. One before it may be.
  private func sendsLast(_ error: Int32) -> Bool {
    if !mayDeliver { return false }
    // The last bytes come first, in a call of their own. The end of the file follows with empty data, an error or the
    // channel's stop without data.
    let hasBytes = gatheredCount > 0 && (isAtEnd || error != 0) && !takesWhatIsThere
    // A mark that was passed while the handler was out. The last call is about the last one.
    if !hasBytes, unreported <= limits.highWater { return true }
    _ = deliver()
    return false
  }

  /// The last call is still to come, but the file is another one's. An operation that has no turn, for it is stopped, keeps its place
  /// behind others.
  private func trail() {
    if trails || !state.load().has(IOState.turn) { return }
    trails = true
    waitNoMore()
    let abandoned = abandoned
    self.abandoned = nil
    file?.trail(self)
    if abandoned?.endsTurn() != false { file?.leave(self) }
  }

  private func waitNoMore() {
    file?.wait(direction).stopWaiting(self)
    // One that never had its turn has not waited, and another one may.
    if state.load().has(IOState.turn) { noteWait(false) }
  }

  private func lastData(_ error: Int32) -> DispatchData? {
    if direction == .write { return error == 0 ? nil : rest }
    return error != 0 && gatheredCount == 0 ? nil : takeGathered()
  }

  private func send(_ done: Bool, _ data: DispatchData?, _ error: Int32) {
    guard let queue else { return }
    delivery = (done, data, error)
    state.update { $0.rawValue |= IOState.out }
    let qos = qos
    queue.enqueueSlow(
      Job(
        invoke: IOOperation.call, qos: qos.rawValue, band: qos.band,
        owner: Owned(self).intoWord()))
  }

  private static let call: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the job holds a reference.
    let operation = Borrowed<IOOperation>(word: job.owner!)
    job.recycle()
    operation.use { $0.call() }
    operation.giveBack()
  }

  private func call() {
    let (done, error) = (delivery.done, delivery.error)
    let begin = Clock.uptime.now()
    // The data are gone before the operation hears that the handler is back, so that their buffers can be used again.
    handler?(done, takeDelivered(), error)
    readsAhead = Clock.uptime.now() - begin > Self.longHandler
    if !done { return kick(0, clearing: IOState.out) }
    shed()
  }

  private func takeDelivered() -> DispatchData? {
    let data = delivery.data
    delivery.data = nil
    return data
  }

  /// The last handler has returned: only the channel still knows the operation.
  private func shed() {
    let channel = channel
    handler = nil
    queue = nil
    file = nil
    self.channel = nil
    rest = .empty
    reported = .empty
    channel?.didEnd(self)
  }

  // MARK: Intervals

  func startTicking() {
    let ticker = IOTicker(self)
    self.ticker = ticker
    ticker.start(after: limits.interval)
  }

  /// Looks again when the kernel may have what it has refused.
  func tickLater(_ error: Errno) {
    let ticker = ticker ?? IOTicker(self)
    self.ticker = ticker
    ticker.start(after: Shortages.ofRegistration(error).refused(error))
  }

  /// The interval is over.
  func tick() {
    if limits.interval != 0, outcome == nil {
      if direction == .write {
        if unreported > 0 || limits.isStrict { _ = deliver() }
      } else if limits.isStrict, request == nil || used == 0 {
        _ = deliver()
      }
    }
    ticker?.isIn = false
    if limits.interval != 0 { ticker?.start(after: limits.interval) }
  }
}

/// An operation's timer.
final class IOTicker: @unchecked Sendable {  // why: the entry is the wheel's while `isIn`, the rest is the step's
  private let entry: TimerEntry.Pointer
  /// The step's alone.
  var isIn = false
  /// The step's alone: until when the stopped operation waits for its request (IOOperation.C1); 0 before it is stopped.
  var patienceEnds: UInt64 = 0
  /// The step's alone: when it ticks, while it is in.
  private var due: UInt64 = 0

  init(_ operation: IOOperation) {
    // unsafe: an entry is as large as a node.
    entry = Magazine.takeRarely().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(
      to: TimerEntry(
        deadline: 0, context: Borrowed(operation).word,
        word: UInt64(Borrowed(self).bits), fire: IOTicker.fired))
  }

  deinit {
    entry.deinitialize(count: 1)
    Magazine.giveRarely(UnsafeMutableRawPointer(entry))
  }

  /// The step: ticks once, after so long or before.
  @_optimize(size)
  func start(after interval: UInt64) {
    let engine = Engine.shared
    let then = Clock.uptime.now().addingSaturated(interval)
    if isIn {
      // One that cannot be moved is on its way.
      if then < due,
        engine.pointee.timers.move(entry, on: .uptime, to: then, leeway: interval / 10, in: engine.pointee)
      {
        due = then
      }
      return
    }
    isIn = true
    due = then
    retain()
    entry.pointee.schedule(then, leeway: interval / 10)
    engine.pointee.timers.add(entry, on: .uptime, in: engine.pointee)
  }

  /// The step: ticks no more, except for a tick that is on its way.
  func end() {
    if isIn, Engine.current.timers.cancel(entry, on: .uptime) { release() }
    isIn = false
  }

  private var operation: Borrowed<IOOperation> { Borrowed(word: entry.pointee.context.unsafelyUnwrapped) }

  /// While the entry is in the wheel.
  private func retain() {
    operation.keep()
    _ = Owned(self).give()
  }

  private func release() {
    operation.giveBack()
    Borrowed(self).giveBack()
  }

  private static let fired: TimerEntry.Fire = { raw in
    // unsafe: the wheel has let go of the entry; `start` has retained both.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let ticker = Borrowed<IOTicker>(bits: UInt(entry.pointee.word)).unsafelyUnwrapped
    ticker.use { ticker in
      ticker.operation.use { $0.kick(IOState.ticked) }
      ticker.release()
    }
  }
}
