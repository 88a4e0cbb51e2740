// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One party's interest in a signal, in memory that the party provides and keeps in place while it is watched.
struct SignalWatch: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<SignalWatch>

  /// Tells the party how many deliveries there were, with the tables' locks held: it must not call them.
  typealias Report = @convention(c) (_ context: UnsafeMutableRawPointer, _ deliveries: UInt) -> Void

  /// Guarded by `list`.
  var next: Pointer?
  let signal: Int32
  let context: UnsafeMutableRawPointer
  let report: Report

  @_optimize(size)
  init(_ signal: Int32, context: UnsafeMutableRawPointer, report: @escaping Report) {
    self.signal = signal
    self.context = context
    self.report = report
  }
}

// Which signals are watched, and by which parties.
//
//   signal ─► handler: counts[n] += 1 ─► event descriptor ─► poller ─► report: takes counts[n] ─► watch ─► watch
//
// SignalTable.G1  A signal is counted while it has watches: the first one's `add` begins it, the last one's `remove`
//     ends it, and has put the program's disposition back when it returns.
// SignalTable.G2  Watches are reported to under `list`, and taken off under it: when `remove` has returned, no report
//     runs, and none will.
// SignalTable.G3  The event descriptor is on the poller while there is any watch. It is made once, and closed with the
//     engine of a run alone, once no handler is about to write to it. While the kernel refuses the descriptor, deliveries are counted all the
//     same, and each retry hands out what has been counted.
//
// Order of locks: `life`, the descriptor table's, `list`. Reports come with the last two held.
struct SignalTable: ~Copyable, @unchecked Sendable {  // all of it is guarded by the locks
  private struct State: ~Copyable {
    /// Guarded by `life`.
    var watches = 0
    /// Guarded by `life`: whether that is on the poller.
    var isOnPoller = false
    /// Guarded by `life`: whether `retry` is listed, or on its way.
    var isRetrying = false
    /// Guarded by `life`: the event descriptor's place in the descriptor table.
    var descriptor: DescriptorWatch.Pointer?
  }

  private let life = Lock()
  private let list = Lock()
  private let state: UnsafeMutablePointer<State>
  /// Set with `life` held: the event descriptor's number.
  private let event = Atomic<Int32>(-1)
  /// The event descriptor was closed behind our back.
  private let isLost = Atomic<Bool>(true)
  /// Guarded by `list`: the watches, by signal.
  private let first: UnsafeMutablePointer<SignalWatch.Pointer?>
  private let retry: Retry.Pointer

  @_optimize(size)
  init() {
    // unsafe: both live as long as the engine.
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    first = .allocate(capacity: Signals.last + 1)
    first.initialize(repeating: nil, count: Signals.last + 1)
    retry = .allocate(capacity: 1)
    retry.initialize(
      to: Retry(context: UnsafeMutableRawPointer(first)) { _, _ in
        Engine.shared.pointee.signals.prepareAgain(in: Engine.shared.pointee)
      })
  }

  /// The engine goes. What watches a signal may still point here: then all stays.
  @_optimize(size)
  func discard() {
    if (0...Int(Signals.last)).contains(where: { first[$0] != nil }) { return }
    if let descriptor {
      descriptor.deinitialize(count: 1)
      descriptor.deallocate()
    }
    // A number that is lost is another file's. relaxed: one thread is left.
    if !isLost.load(ordering: .relaxed) { Signals.close(event.load(ordering: .relaxed)) }
    state.deinitialize(count: 1)
    state.deallocate()
    first.deallocate()
    retry.deinitialize(count: 1)
    retry.deallocate()
  }

  func lockForFork() { life.lock() }
  func unlockAfterFork() { life.unlock() }
  /// After the descriptor table's.
  func lockListForFork() { list.lock() }
  func unlockListAfterFork() { list.unlock() }

  /// Starts watching.
  @_optimize(size)
  func add(_ watch: SignalWatch.Pointer, in engine: borrowing Engine) -> Errno? {
    life.lock()
    defer { life.unlock() }
    let refusal = prepare(in: engine)
    if let refusal, !refusal.isShortage, !refusal.isRefusal { return refusal }
    let signal = watch.pointee.signal
    let isFirst = list.withLock { first[Int(signal)] == nil }
    if isFirst, let error = Signals.watch(signal) {
      retire(in: engine)
      return error
    }
    list.lock()
    // What has been counted so far belongs to the earlier watches.
    deliver(signal)
    watch.pointee.next = first[Int(signal)]
    first[Int(signal)] = watch
    list.unlock()
    watches += 1
    if let refusal { delay(refusal, in: engine) }
    // If all threads block the signal, a thread that waits already does not let it in.
    if isFirst { engine.poller.interrupt() }
    return nil
  }

  /// Ends watching (SignalTable.G1, SignalTable.G2).
  @_optimize(size)
  func remove(_ watch: SignalWatch.Pointer, in engine: borrowing Engine) {
    life.lock()
    defer { life.unlock() }
    let signal = Int(watch.pointee.signal)
    list.lock()
    if first[signal] == watch {
      first[signal] = watch.pointee.next
    } else {
      var place = first[signal]
      while let candidate = place, candidate.pointee.next != watch { place = candidate.pointee.next }
      guard let place else {
        // A forked child's table does not know the parent's watches.
        list.unlock()
        return
      }
      place.pointee.next = watch.pointee.next
    }
    let isLast = first[signal] == nil
    list.unlock()
    if isLast { Signals.unwatch(watch.pointee.signal) }
    watches -= 1
    retire(in: engine)
  }

  /// The table of a run may have had the deliveries told to itself (`Signals.notify`). What has been counted for this one is handed out now.
  @_optimize(size)
  func takeBack() {
    life.lock()
    defer { life.unlock() }
    // relaxed: `life` is held.
    if watches == 0 || isLost.load(ordering: .relaxed) { return }
    // relaxed: see `prepare`.
    let event = event.load(ordering: .relaxed)
    Signals.notify(event)
    EventFD.signal(event)
  }

  // MARK: With `life` held

  private var descriptor: DescriptorWatch.Pointer? { state.pointee.descriptor }
  private var watches: Int {
    get { state.pointee.watches }
    nonmutating set { state.pointee.watches = newValue }
  }

  /// Makes deliveries reach the poller (SignalTable.G3).
  @_optimize(size)
  private func prepare(in engine: borrowing Engine) -> Errno? {
    // relaxed: set with the descriptor table's lock held; a late view costs one failure of `watch`.
    if isLost.load(ordering: .relaxed) {
      var error: Errno?
      guard let made = EventFD(or: &error) else { return error }
      let number = made.release()
      // relaxed: a thread that reads it holds `life`, or reads it in its report, which comes after the registration below.
      event.store(number, ordering: .relaxed)
      // unsafe: lives as long as the engine.
      let descriptor = DescriptorWatch.Pointer.allocate(capacity: 1)
      descriptor.initialize(
        to: DescriptorWatch(
          number, .readable, context: UnsafeMutableRawPointer(first), report: SignalTable.report))
      state.pointee.descriptor = descriptor
      Signals.notify(number)
      state.pointee.isOnPoller = false
      // relaxed: `life` is held.
      isLost.store(false, ordering: .relaxed)
    } else if state.pointee.isOnPoller {
      return nil
    }
    switch engine.poller.watch(descriptor!, in: engine) {
    case .watched:
      state.pointee.isOnPoller = true
      return nil
    case .alwaysReady: return .badDescriptor
    case .failed(let error): return error
    }
  }

  /// The kernel has refused the descriptor.
  @_optimize(size)
  private func delay(_ error: Errno, in engine: borrowing Engine) {
    if state.pointee.isRetrying { return }
    state.pointee.isRetrying = true
    _ = Shortages.ofRegistration(error).refused(error)
    _ = engine.retries.add(retry, refusedWith: .again, in: engine)
  }

  /// Without `life`. Until there is a descriptor, hands out what has been counted.
  @_optimize(size)
  private func prepareAgain(in engine: borrowing Engine) -> Int32 {
    life.lock()
    defer { life.unlock() }
    let error = watches == 0 ? nil : prepare(in: engine)
    // relaxed: see `prepare`.
    let isLost = isLost.load(ordering: .relaxed)
    collect(isLost: isLost)
    if error == nil { state.pointee.isRetrying = false }
    return error == nil ? 0 : Errno.again.code
  }

  /// The event descriptor leaves the poller with the last watch.
  @_optimize(size)
  private func retire(in engine: borrowing Engine) {
    guard watches == 0, let descriptor else { return }
    state.pointee.isOnPoller = false
    if engine.poller.unwatch(descriptor) == .gone { lose() }
  }

  /// The next `add` makes another descriptor.
  @_optimize(size)
  private func lose() {
    Signals.notify(-1)
    // relaxed: see `prepare`.
    isLost.store(true, ordering: .relaxed)
  }

  // MARK: Reporting

  /// With the descriptor table's lock held.
  private static let report: DescriptorWatch.Report = { _, happened in
    guard let engine = Engine.existing else { return true }
    if happened == DescriptorWatch.gone {
      Fault.report(
        "the program closed a descriptor that is not its own: signal sources report nothing until another one is made. "
          + "Close only descriptors that you have opened.")
      engine.pointee.signals.lose()
      return false
    }
    engine.pointee.signals.collect(isLost: false)
    return true
  }

  @_optimize(size)
  private func collect(isLost: Bool) {
    list.lock()
    defer { list.unlock() }
    // relaxed: see `prepare`.
    Signals.acknowledge(isLost ? -1 : event.load(ordering: .relaxed))
    for signal in 1...Signals.last where first[signal] != nil { deliver(Int32(signal)) }
  }

  /// With `list` held.
  @_optimize(size)
  private func deliver(_ signal: Int32) {
    guard first[Int(signal)] != nil else { return }
    let deliveries = Signals.take(signal)
    if deliveries == 0 { return }
    var next = first[Int(signal)]
    while let watch = next {
      next = watch.pointee.next
      watch.pointee.report(watch.pointee.context, deliveries)
    }
  }
}
