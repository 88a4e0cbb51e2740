// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that fires when the level of memory pressure changes.
///
/// The kernel says when to look: a trigger fires while memory delays tasks, and the group's event file changes when the group
/// hits a limit. The delivery does the looking: it reads how much is left, works out the level, and calls the handler if the
/// level has changed. A timer repeats the look until the level is normal again. Where the kernel has no triggers, the timer
/// repeats it slowly for as long as the source exists.
///
///   trigger, event file ──► `noted` ──┐
///                                     ├─► fire ──► delivery: look, handler, arm what fell silent, set the timer
///   timer ────────────────────────────┘
///
/// Only the delivery starts the timer (`TimedSource`) anew.
final class MemoryPressureSource: TimedSource, DispatchSourceMemoryPressure,
  @unchecked Sendable  // guarded by the source's lock, or as said below
{
  /// What a test replaces.
  struct Setup {
    /// Where `/proc` and the control groups are.
    var root = ""
    var thresholds = PressureThresholds()
    /// Descriptors to watch in place of the kernel's triggers; the source closes them.
    var triggers: [(PressureFiles.Stall, Int32)]?
  }

  /// What a report hands to the delivery.
  private enum Note {
    static let some: UInt = 1
    static let all: UInt = 2
    static let limit: UInt = 4
    /// A note shifted by this says that no more notes of its kind will come: its file is gone.
    static let lost: UInt = 8
  }

  // The activator's until the source is registered, the delivery's afterwards.
  private let setup: Setup
  @exclusivity(unchecked) private var files: PressureFiles?
  @exclusivity(unchecked) private var gauge: PressureGauge
  @exclusivity(unchecked) private var level = PressureLevel.normal
  @exclusivity(unchecked) private var shortages = 0
  /// The kinds of notes that do not come any more.
  @exclusivity(unchecked) private var lost: UInt = 0
  /// Constant after the registration: each with the kind of its notes.
  @exclusivity(unchecked) private var watches: [(watch: DescriptorWatch.Pointer, note: UInt)] = []

  /// The watches, by index, that were taken off the table and whose files are still open. The other files were closed by the
  /// program.
  private let removed = Atomic<UInt>(0)
  /// Notes since the last delivery.
  private let noted = Atomic<UInt>(0)

  @_optimize(size)
  init(_ setup: Setup, mask: UInt, queue: DispatchQueue?) {
    self.setup = setup
    gauge = PressureGauge(setup.thresholds)
    super.init(handle: 0, mask: mask, queue: queue)
  }

  @_optimize(size)
  deinit {
    requireReleasable()
    for (watch, _) in watches { Self.destroy(watch) }
  }

  override var kindName: String { "memory pressure source" }
  override var watched: String { "memory" }

  // MARK: Watching

  @_optimize(size)
  override func register() -> Errno? {
    // A file that cannot be opened for lack of descriptors would look as if it did not exist.
    if let error = Descriptor.shortage() { return error }
    let files = PressureFiles(root: setup.root)
    self.files = files
    if let given = setup.triggers {
      for (stall, descriptor) in given { watch(FileDescriptor(owning: descriptor), stall) }
    } else {
      for stall in [PressureFiles.Stall.some, .full] {
        if let trigger = files.trigger(stall) { watch(trigger, stall) }
      }
    }
    if let events = files.events() {
      shortages = PressureFiles.shortages(events.raw) ?? 0
      watch(events, Note.limit, Self.limitReport)
    }
    let reading = files.read()
    if reading == nil, watches.isEmpty { return Descriptor.shortage() ?? .noSuchFile }
    let isCalm = gauge.update(reading, at: Clock.uptime.now()) == .normal
    lock.lock()
    isLive = true
    restartTimer(isReturning: true)
    lock.unlock()
    // The program assumes the normal level until it is told another one.
    if !isCalm { fire() }
    return nil
  }

  @_optimize(size)
  private func watch(_ file: consuming FileDescriptor, _ stall: PressureFiles.Stall) {
    switch stall {
    case .some: watch(file, Note.some, Self.someReport)
    case .full: watch(file, Note.all, Self.allReport)
    }
  }

  /// Watches the file. If the kernel refuses, the timer looks instead.
  @_optimize(size)
  private func watch(_ file: consuming FileDescriptor, _ note: UInt, _ report: @escaping DescriptorWatch.Report) {
    // unsafe: a watch is no larger than a node.
    let watch = Magazine.takeRarely().bindMemory(to: DescriptorWatch.self, capacity: 1)
    watch.initialize(
      to: DescriptorWatch(
        file.raw, .priority, context: Borrowed(self).word, report: report))
    if Engine.current.poller.watch(watch, in: Engine.current) == .watched {
      _ = file.take()
      watches.append((watch, note))
    } else {
      Self.destroy(watch)
    }
  }

  @_optimize(size)
  private static func destroy(_ watch: DescriptorWatch.Pointer) {
    watch.deinitialize(count: 1)
    Magazine.giveRarely(UnsafeMutableRawPointer(watch))
  }

  @_optimize(size)
  override func unregister() -> Bool {
    for index in watches.indices {
      if Engine.current.poller.unwatch(watches[index].watch) == .removed {
        // relaxed: the step that says that nothing is watched any more comes afterwards, and publishes it.
        removed.bitwiseOr(1 << index, ordering: .relaxed)
      }
    }
    return super.unregister()
  }

  /// Closed here and not in `unregister`: a delivery that ran at that time may have been reading.
  @_optimize(size)
  override func didFinish() {
    // relaxed: the last step comes after the one that says that nothing is watched any more.
    let removed = removed.exchange(0, ordering: .relaxed)
    for index in watches.indices where removed & 1 << index != 0 {
      _ = FileDescriptor(owning: watches[index].watch.pointee.descriptor)
    }
  }

  // MARK: Being told

  private static let someReport: DescriptorWatch.Report = { report($0, $1, Note.some) }
  private static let allReport: DescriptorWatch.Report = { report($0, $1, Note.all) }
  private static let limitReport: DescriptorWatch.Report = { report($0, $1, Note.limit) }

  /// With the descriptor table's lock held: merges, and calls nothing but the state machine.
  @_optimize(size)
  private static func report(_ context: UnsafeMutableRawPointer, _ happened: UInt32, _ note: UInt) -> Bool {
    // unsafe: the active source keeps itself alive until its watches are off the table.
    Borrowed<MemoryPressureSource>(word: context).use { source in
      // A trigger whose group is no more reports an error for ever; on the event file an error goes with each change.
      let isOver = note != Note.limit && happened & Epoll.Interest.error.rawValue != 0
      let isLost = happened == DescriptorWatch.gone || isOver
      // relaxed: a note says when to look, and hands nothing over. It comes before `fire`, which makes it known: the delivery
      // of that event finds it, or an earlier one has taken it.
      source.noted.bitwiseOr(isLost ? note * Note.lost : note, ordering: .relaxed)
      let goesOn = source.fire()
      return goesOn && !isLost
    }
  }

  // MARK: Delivery

  @_optimize(size)
  override func takeEvent() -> UInt? {
    let now = Clock.uptime.now()
    // relaxed: see `report`.
    let notes = noted.exchange(0, ordering: .relaxed)
    lost |= notes / Note.lost
    if notes & Note.some != 0 { gauge.noteSomeStalled(at: now) }
    if notes & Note.all != 0 { gauge.noteAllStalled(at: now) }
    if notes & Note.limit != 0 { lookAtShortages(now) }
    let former = level
    level = gauge.update(files?.read(), at: now)
    let data = mask & MemoryPressureEvent(level).rawValue
    return level == former || data == 0 ? nil : data
  }

  /// Reading silences the event file until its next change.
  @_optimize(size)
  private func lookAtShortages(_ now: UInt64) {
    for (watch, note) in watches where note == Note.limit {
      guard let count = PressureFiles.shortages(watch.pointee.descriptor) else {
        lost |= Note.limit
        continue
      }
      if count > shortages { gauge.noteAllStalled(at: now) }
      shortages = count
    }
  }

  @_optimize(size)
  override func finishEvent(wasSilenced: Bool) {
    if wasSilenced {
      for (watch, note) in watches where lost & note == 0 { Engine.current.poller.rearm(watch) }
    }
    lock.lock()
    restartTimer(isReturning: true)
    lock.unlock()
  }

  /// When to look next without a report, if at all.
  @_optimize(size)
  override func restartTimer(isReturning: Bool) {
    if isIn || !isLive { return }
    let thresholds = setup.thresholds
    let isTold = watches.contains { $0.note == Note.some && lost & Note.some == 0 }
    if level == .normal, isTold { return }
    let period = level == .normal ? thresholds.calmPeriod : thresholds.period
    putIn(
      on: .uptime, at: Clock.uptime.now().addingSaturated(period), leeway: period / 8, isReturning: isReturning)
  }
}
