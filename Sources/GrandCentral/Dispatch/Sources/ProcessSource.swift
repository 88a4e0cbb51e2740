// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A source that watches a process.
///
/// The end of the process makes its descriptor readable, for good: the report disarms the watch, and the delivery takes
/// it off. Forks and execs come from a socket that hears of all processes; each source that wants them has one, and gives
/// it up with the process. What the kernel has to tell of the process, the socket has when the end is reported: so the report of the
/// end hears all of that first. Afterwards nothing is heard of the number, which may be another process's.
///
/// Data are merged before the event is made known, as in UserDataSource.
final class ProcessSource: DispatchSource, DispatchSourceProcess, @unchecked Sendable {  // as its fields say
  private let process: Int32
  private let wanted: DispatchSource.ProcessEvent
  private let merged = Atomic<UInt>(0)
  private let hasEnded = Atomic<Bool>(false)
  private let hasReportedLoss = Atomic<Bool>(false)
  /// The process's descriptor plus 1; 0 before the registration, and for a process that was gone by then.
  private let pidfd = Atomic<Int32>(0)
  /// `ProcessExitStatus` once it is known, packed; 0 before.
  private let end = Atomic<UInt64>(0)
  /// Set by the registration, before anything is watched.
  @exclusivity(unchecked) private var engineAddress: Engine.Address?
  private var engine: Engine.Pointer? { Engine.at(engineAddress) }
  /// Of the process that has made it.
  private let generation = Thread.forkGeneration
  @exclusivity(unchecked) private var processWatch: DescriptorWatch.Pointer?
  @exclusivity(unchecked) private var connectorWatch: DescriptorWatch.Pointer?
  /// Guarded by the descriptor table's lock: the process's number is another one's now.
  @exclusivity(unchecked) private var hasSuccessor = false

  @_optimize(size)
  init(identifier: Int32, mask: DispatchSource.ProcessEvent, queue: DispatchQueue?) {
    process = identifier
    wanted = mask
    super.init(handle: UInt(UInt32(bitPattern: identifier)), mask: mask.rawValue, queue: queue)
  }

  @_optimize(size)
  deinit {
    requireReleasable()
    // A forked child leaves its copies of the parent's descriptors open: their numbers may be other files' by now.
    if generation == Thread.forkGeneration { closeDescriptors() }
    Self.free(processWatch)
    Self.free(connectorWatch)
  }

  @_optimize(size)
  private func closeDescriptors() {
    if let connectorWatch {
      let descriptor = connectorWatch.pointee.descriptor
      if isOurs { ProcessConnector.close(descriptor) } else { ProcessConnector.abandon(descriptor) }
    }
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let place = pidfd.load(ordering: .relaxed)
    if place > 0 { PidFD.close(place - 1) }
  }

  @_optimize(size)
  private static func free(_ watch: DescriptorWatch.Pointer?) {
    watch?.deinitialize(count: 1)
    watch?.deallocate()
  }

  /// Whether this is not a forked child's copy.
  private var isOurs: Bool { engine == Engine.existing }

  override var kindName: String { "process source" }
  override var watched: String { "process " + String(process) }

  // MARK: What there is

  /// What the kernel supports, plus 1; 0 until the kernel has said so: a refusal for lack of descriptors says nothing.
  private static let knownSupport = Atomic<UInt>(0)

  @_optimize(size)
  static func supported() -> DispatchSource.ProcessEvent {
    // relaxed: every thread that asks finds the same.
    let known = knownSupport.load(ordering: .relaxed)
    if known != 0 { return DispatchSource.ProcessEvent(rawValue: known - 1) }
    // Without process descriptors the source polls for the end, see `register`.
    var events: DispatchSource.ProcessEvent = .exit
    switch ProcessConnector.open() {
    case .success(let connector):
      ProcessConnector.close(connector)
      events.formUnion([.fork, .exec])
    case .failure(let error): if error.isShortage { return events }
    }
    // relaxed: as above.
    knownSupport.store(events.rawValue + 1, ordering: .relaxed)
    return events
  }

  @_optimize(size)
  private func reportMissing() {
    let missing = wanted.subtracting(Self.supported())
    if missing.isEmpty { return }
    var names = ""
    for (event, name) in [
      (DispatchSource.ProcessEvent.fork, "fork (needs CAP_NET_ADMIN)"), (.exec, "exec (needs CAP_NET_ADMIN)"),
      (.signal, "signal (Linux does not tell)"),
    ] where missing.contains(event) {
      names += (names.isEmpty ? "" : ", ") + name
    }
    Fault.report(
      "a process source for " + watched + " will not hear of: " + names
        + ". DispatchSource.supportedProcessEvents says what there is.")
  }

  // MARK: Registration

  @_optimize(size)
  override func register() -> Errno? {
    if engine == nil {
      engineAddress = Engine.sharedAddress
      reportMissing()
    }
    if let error = openProcess() { return error }
    // relaxed: this thread has opened it; 0 for a process that was gone.
    if pidfd.load(ordering: .relaxed) == 0 { return nil }
    if !wanted.isDisjoint(with: [.fork, .exec]), let error = listen() { return error }
    // relaxed: as above.
    if processWatch == nil { processWatch = make(pidfd.load(ordering: .relaxed) - 1, ProcessSource.processReport) }
    return watch(processWatch)
  }

  /// Opens the process's descriptor, unless an earlier attempt has.
  ///
  /// Where there is no descriptor, for now or at all, each attempt looks whether the process has ended.
  @_optimize(size)
  private func openProcess() -> Errno? {
    // relaxed: attempts come one at a time.
    if pidfd.load(ordering: .relaxed) != 0 { return nil }
    switch PidFD.open(process) {
    case .success(let descriptor):
      // pairs with: exitStatus – publishes the descriptor
      pidfd.store(descriptor + 1, ordering: .releasing)
    case .failure(.noSuchProcess): noteEnd()
    case .failure(let error):
      guard error.isShortage || error.isRefusal else { return error }
      guard case .ended(let end) = PidFD.look(at: process) else {
        if error.isRefusal { Shortages.processes.refused(error) } else { Shortages.descriptors.refused(error) }
        return .again
      }
      if let end { note(end) }
      noteEnd()
    }
    return nil
  }

  /// Hears of forks and execs, where that is permitted.
  @_optimize(size)
  private func listen() -> Errno? {
    if connectorWatch == nil {
      switch ProcessConnector.open() {
      case .success(let connector): connectorWatch = make(connector, ProcessSource.connectorReport)
      case .failure(let error): return error.isShortage ? error : nil
      }
    }
    return watch(connectorWatch)
  }

  @_optimize(size)
  private func make(_ descriptor: Int32, _ report: @escaping DescriptorWatch.Report) -> DescriptorWatch.Pointer {
    // unsafe: lives as long as the source, which is off the table when it goes.
    let watch = DescriptorWatch.Pointer.allocate(capacity: 1)
    watch.initialize(
      to: DescriptorWatch(
        descriptor, .readable, context: Borrowed(self).word, report: report))
    return watch
  }

  @_optimize(size)
  private func watch(_ watch: DescriptorWatch.Pointer?) -> Errno? {
    guard let watch, let engine, case .failed(let error) = engine.pointee.poller.watch(watch, in: engine.pointee) else {
      return nil
    }
    unwatch()
    return error
  }

  @_optimize(size)
  override func unregister() -> Bool {
    unwatch()
    return true
  }

  /// Any thread, any number of times.
  @_optimize(size)
  private func unwatch() {
    guard let engine, isOurs else { return }
    if let processWatch { _ = engine.pointee.poller.unwatch(processWatch) }
    if let connectorWatch { _ = engine.pointee.poller.unwatch(connectorWatch) }
  }

  // MARK: Reports, under the descriptor table's lock

  private static let processReport: DescriptorWatch.Report = { context, happened in
    // unsafe: the active source keeps itself alive until the watch is off the table.
    Borrowed<ProcessSource>(word: context).use { source in
      if happened == DescriptorWatch.gone { source.reportGone() } else { source.noteEnd() }
    }
    return false
  }

  private static let connectorReport: DescriptorWatch.Report = { context, happened in
    // unsafe: as above.
    Borrowed<ProcessSource>(word: context).use { source in
      if happened == DescriptorWatch.gone {
        source.reportGone()
        return false
      }
      source.hear()
      return true
    }
  }

  @_optimize(size)
  private func reportGone() {
    Fault.report(
      "a descriptor that a process source for " + watched + " listens on was closed by the program; it falls silent. "
        + "Close only descriptors that you have opened.")
  }

  @_optimize(size)
  private func noteEnd() {
    // Not without the table's lock, nor where there is no connector: no connector is listed then.
    if let connectorWatch, connectorWatch.pointee.isListed { hear(Self.mostQueued) }
    noteExitStatus()
    // relaxed: the event, which comes afterwards, publishes it.
    hasEnded.store(true, ordering: .relaxed)
    note(.exit)
    // If the program does not want to know of the end, the delivery gives up the watches.
    if !wanted.contains(.exit) { fire() }
  }

  private static let largestPortion = 64
  /// No socket's buffer has room for as many messages as that, unless the system's owner has made it ten times larger.
  private static let mostQueued = 4_096

  /// Messages about all processes, so many at most; what is left is reported again.
  @_optimize(size)
  private func hear(_ most: Int = largestPortion) {
    // unsafe: set before the watch was listed.
    let connector = connectorWatch!.pointee.descriptor
    for _ in 0..<most {
      switch ProcessConnector.next(connector) {
      case .none: return
      case .forked(process, child: _): note(.fork)
      case .forked(_, child: process): noteBirth()
      case .executed(process): note(.exec)
      case .lost: reportLoss()
      default: break
      }
    }
  }

  /// A process of that number was made: another one, if the one that is watched has ended. Its end may not have been reported yet.
  @_optimize(size)
  private func noteBirth() {
    // relaxed: written before anything was watched.
    let place = pidfd.load(ordering: .relaxed)
    if place > 0, Descriptor.isReady(place - 1, .readable) { hasSuccessor = true }
  }

  @_optimize(size)
  private func reportLoss() {
    // relaxed: one line is enough.
    if hasReportedLoss.exchange(true, ordering: .relaxed) { return }
    Fault.report(
      "forks or execs of " + watched + " may have been missed, because the kernel had more to tell than was read.")
  }

  @_optimize(size)
  private func note(_ event: DispatchSource.ProcessEvent) {
    let data = event.intersection(wanted)
    // relaxed: a process's number may be another one's after its end.
    if data.isEmpty || event != .exit && (hasSuccessor || hasEnded.load(ordering: .relaxed)) { return }
    // pairs with: takeEvent – publishes what the process has done
    merged.bitwiseOr(data.rawValue, ordering: .releasing)
    fire()
  }

  // MARK: Delivery

  @_optimize(size)
  override func takeEvent() -> UInt? {
    // pairs with: note – publishes what the process has done
    let data = merged.exchange(0, ordering: .acquiring)
    return data == 0 ? nil : data
  }

  @_optimize(size)
  override func finishEvent(wasSilenced: Bool) {
    // relaxed: the event has published it.
    if hasEnded.load(ordering: .relaxed) { unwatch() }
  }

  // MARK: The end

  var exitStatus: DispatchSource.ProcessExitStatus? {
    noteExitStatus()
    // relaxed: the word is all there is.
    let packed = end.load(ordering: .relaxed)
    if packed == 0 { return nil }
    let status = Int32(truncatingIfNeeded: packed)
    if packed & Self.killed == 0 { return .exited(code: status) }
    return .killed(signal: status, dumpedCore: packed & Self.dumped != 0)
  }

  private static let known: UInt64 = 1 << 32
  private static let killed: UInt64 = 1 << 33
  private static let dumped: UInt64 = 1 << 34

  /// Remembers how the process has ended, if it has: once it is reaped the kernel may not know any more.
  @_optimize(size)
  private func noteExitStatus() {
    // pairs with: register – publishes the descriptor
    let place = pidfd.load(ordering: .acquiring)
    // relaxed: the word is all there is, and every thread finds the same.
    if place == 0 || end.load(ordering: .relaxed) != 0 { return }
    if let found = PidFD.end(place - 1) { note(found) }
  }

  @_optimize(size)
  private func note(_ found: PidFD.End) {
    let flags = Self.known | (found.wasKilled ? Self.killed : 0) | (found.dumpedCore ? Self.dumped : 0)
    // relaxed: as above.
    end.store(flags | UInt64(UInt32(bitPattern: found.status)), ordering: .relaxed)
  }
}
