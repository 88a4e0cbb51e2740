// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a program may have run when a pool thread starts and ends, and what the layer above tells the engine.
enum Hooks {
  private struct Pair: Sendable {
    var start: (@Sendable () -> Void)?
    var exit: (@Sendable () -> Void)?
  }

  private static let lock = ProcessLock()
  /// Guarded by `lock`.
  private nonisolated(unsafe) static var pair = Pair()
  /// How to name what a worker runs, set by the layer above before it submits anything.
  private static let laneName = Atomic<UInt>(0)

  typealias LaneName = @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer

  static func set(start: (@Sendable () -> Void)?, exit: (@Sendable () -> Void)?) {
    var former = Pair(start: start, exit: exit)
    lock.lock()
    swap(&former, &pair)
    lock.unlock()
    // What the former hooks keep is freed with the lock given back: its `deinit` may set hooks, fork, or wait for a new worker.
    withExtendedLifetime(former) {}
  }

  static var hasStart: Bool {
    lock.lock()
    defer { lock.unlock() }
    return pair.start != nil
  }

  /// The reference to the hook is given back before it returns: the caller is no searcher until then, and what goes with the last reference
  /// may submit work and wait for it.
  @inline(never)
  @_optimize(size)
  static func runStart() {
    lock.lock()
    let hook = pair.start
    lock.unlock()
    hook?()
  }

  @inline(never)
  @_optimize(size)
  static func runExit() {
    lock.lock()
    let hook = pair.exit
    lock.unlock()
    hook?()
  }

  static func lockForFork() { lock.lock() }
  static func unlockAfterFork() { lock.unlock() }

  /// The layer above names lanes: `namer` gets the lane and returns a retained `LaneLabel`.
  static func setLaneName(_ namer: @escaping LaneName) {
    // relaxed: a function captures nothing, so the word is all there is to publish.
    laneName.store(UInt(bitPattern: unsafeBitCast(namer, to: Int.self)), ordering: .relaxed)
  }

  /// How to name the jobs of a band that belong to no lane, set with `laneName`.
  private static let bandName = Atomic<UInt>(0)

  typealias BandName = @convention(c) (UInt8) -> UnsafeMutableRawPointer

  /// As `setLaneName`: `namer` gets the band's rank.
  static func setBandName(_ namer: @escaping BandName) {
    // relaxed: as in `setLaneName`.
    bandName.store(UInt(bitPattern: unsafeBitCast(namer, to: Int.self)), ordering: .relaxed)
  }

  static func name(ofBand band: Band) -> String {
    // relaxed: as in `setLaneName`.
    let word = bandName.load(ordering: .relaxed)
    if word == 0 { return band.name }
    // unsafe: the word is a function of this type, see `setBandName`.
    let label = unsafeBitCast(word, to: BandName.self)(band.rank)
    return Unmanaged<LaneLabel>.fromOpaque(label).takeRetainedValue().text
  }

  static func name(ofLane lane: UnsafeMutableRawPointer) -> String {
    // relaxed: as in `setLaneName`.
    let word = laneName.load(ordering: .relaxed)
    if word == 0 { return "?" }
    // unsafe: the word is a function of this type, see `setLaneName`.
    let label = unsafeBitCast(word, to: LaneName.self)(lane)
    return Unmanaged<LaneLabel>.fromOpaque(label).takeRetainedValue().text
  }
}

/// A name on its way from the layer above.
final class LaneLabel {
  let text: String
  init(_ text: String) { self.text = text }
}
