// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How long a thread spins before it sleeps, learnt from whether spinning has paid lately (`SpinCredit`).
///
/// A spinner never yields its processor. On a machine that others load as well, the kernel hands a yielded processor to
/// a neighbour for a whole time slice, while a thread that sleeps and is woken goes first. The spinner reads the
/// processor's counter between two looks. A gap there says that the kernel has taken the processor away: the machine is
/// full, the spin is over, and a partner that has answered meanwhile is no hit.
/// Documentation/Decisions/0021-loaded-machines.md has the figures.
///
/// On one processor no thread spins.
struct SpinBudget: ~Copyable, Sendable {
  /// What a sleep and a wake-up cost, in nanoseconds of processor time.
  private static let wakeUp: UInt64 = 5_000
  /// A gap of this many nanoseconds between two looks is no interrupt: another thread has had the processor.
  private static let gap: UInt64 = 30_000

  /// For a thread that waits for another's answer, in nanoseconds: a little more than it takes to wake a processor that
  /// is halted on a virtual machine.
  static let answer: UInt64 = 40_000

  /// `SpinCredit`
  let credit: Atomic<UInt64>
  /// The length of a spin.
  private let nanoseconds: UInt64
  /// What a spin in vain costs, in wake-ups.
  private let price: Int32

  init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
    price = Int32(max(1, nanoseconds / Self.wakeUp))
    credit = Atomic(SpinCredit(price: price).rawValue)
  }

  /// Looks again and again for a while. Nil if spinning would not pay, or has found nothing.
  @inline(__always)
  borrowing func run<R>(_ look: () -> R?) -> R? {
    guard maySpin else { return nil }
    let pace = Cycles.perMillisecond
    let gap = pace &* Self.gap / 1_000_000
    var last = Cycles.now
    let end = last &+ pace &* nanoseconds / 1_000_000
    while true {
      gc_pause()
      gc_pause()
      let found = look()
      let now = Cycles.now
      let isInterrupted = now &- last > gap
      if found == nil, !isInterrupted, now < end {
        last = now
        continue
      }
      note(isHit: found != nil && !isInterrupted)
      return found
    }
  }

  private var maySpin: Bool {
    if !Backoff.maySpin { return false }
    // relaxed: a running estimate; lost updates do not matter.
    var credit = SpinCredit(rawValue: credit.load(ordering: .relaxed))
    if credit.isLeft { return true }
    let tries = credit.wait()
    // relaxed: as above.
    self.credit.store(credit.rawValue, ordering: .relaxed)
    return tries
  }

  private func note(isHit: Bool) {
    // relaxed: a running estimate; lost updates do not matter.
    let before = SpinCredit(rawValue: credit.load(ordering: .relaxed))
    var after = before
    isHit ? after.earn(price) : after.pay(price)
    // relaxed: as above. Two threads that answer each other all the time leave the line alone.
    if after != before { credit.store(after.rawValue, ordering: .relaxed) }
  }
}

/// What a place that spins has learnt, in one word.
///
/// A hit saves one sleep and one wake-up, and earns one. A miss costs the whole spin: its price, as many wake-ups as it is
/// long. While credit is left every wait spins. Without credit one wait in `interval` tries, so that better times are noticed.
/// Each trial that fails doubles the interval, up to 64 waits for each wake-up of the price: trials cost a sixty-fourth of
/// what the waits cost, whatever the spin's length. So two threads that answer each other within the spin stay awake; a
/// spin that is too short, or has no processor to itself, costs next to nothing.
struct SpinCredit: RawRepresentable, Equatable {
  static let most: Int32 = 64
  static let start: Int32 = 32

  static func shortest(_ price: Int32) -> Int32 { 8 * price }
  static func longest(_ price: Int32) -> Int32 { 64 * price }

  /// What is left; below zero, the waits since the last trial.
  private(set) var balance = Self.start
  /// Waits per trial without credit.
  private(set) var interval: Int32

  init(price: Int32) { interval = Self.shortest(price) }

  init(rawValue: UInt64) {
    balance = Int32(truncatingIfNeeded: rawValue)
    interval = Int32(truncatingIfNeeded: rawValue &>> 32)
  }

  var rawValue: UInt64 {
    UInt64(UInt32(bitPattern: balance)) | UInt64(UInt32(bitPattern: interval)) &<< 32
  }

  var isLeft: Bool { balance > 0 }

  /// A wait without credit. Returns whether it tries a spin.
  mutating func wait() -> Bool {
    let tries = balance <= -interval
    balance = tries ? 0 : balance - 1
    return tries
  }

  mutating func earn(_ price: Int32) {
    balance = min(Self.most, max(0, balance) + 1)
    interval = Self.shortest(price)
  }

  mutating func pay(_ price: Int32) {
    if balance <= 0 { interval = min(Self.longest(price), interval * 2) }
    balance = max(0, balance - price)
  }
}
