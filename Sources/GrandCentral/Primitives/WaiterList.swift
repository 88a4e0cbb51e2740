// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A thread that waits, on that thread's own stack; or something else that is told by a function of its own.
///
///     var waiter = Waiter()
///     withUnsafeMutablePointer(to: &waiter) { waiter in
///       lock.lock(); list.append(waiter); lock.unlock()
///       if !waiter.pointee.parker.park(until: deadline) { … remove it under the lock, or take the token that came … }
///     }
///
/// The thread that has removed a waiter from its list owes it exactly one `unpark`, and must not touch it afterwards: the
/// waiter's thread has returned by then.
struct Waiter: ~Copyable {
  typealias Awaken = @convention(c) (UnsafeMutableRawPointer) -> Void

  let parker = Parker()
  let duty = WakeDuty()
  /// Guarded by `list`.
  fileprivate(set) var next: UnsafeMutablePointer<Waiter>?
  /// Guarded by `list`.
  fileprivate(set) var previous: UnsafeMutablePointer<Waiter>?
  /// Guarded by `list`: the process in which it was appended, as `WaiterList.process`; 0 if it is in no list.
  fileprivate var process: UInt32 = 0
  /// The user's.
  var word: UInt64 = 0
  /// Called in place of leaving the token, for a waiter that is no thread.
  let awaken: Awaken?

  @inline(__always)
  init(word: UInt64 = 0, awaken: Awaken? = nil) {
    self.word = word
    self.awaken = awaken
  }

  var isListed: Bool { process != 0 }

  /// Gives a chosen waiter what it is owed. The waiter must not be touched afterwards.
  @inline(__always)
  static func wake(_ waiter: UnsafeMutablePointer<Waiter>) {
    guard let awaken = waiter.pointee.awaken else {
      waiter.pointee.duty.perform()
      return waiter.pointee.parker.unpark()
    }
    awaken(UnsafeMutableRawPointer(waiter))
  }
}

/// Waiters in order of arrival. All calls under one lock, the user's.
///
/// A waiter that gives up looks at `isListed` under the lock: if it is false another thread has chosen it, and its token is
/// there or comes at once.
///
/// In a child of fork the waiters stay with the parent: the threads on whose stacks they are do not exist, and other threads get that
/// memory. So the list forgets them as soon as the child uses it, and touches none. A waiter that is no thread may be removed then as well.
struct WaiterList: ~Copyable {
  /// Guarded by user's lock, all three. The last word has room for the user's next field.
  private var first: UnsafeMutablePointer<Waiter>?
  private var last: UnsafeMutablePointer<Waiter>?
  /// The process that the waiters belong to: how many forks it is from the one that was started, and one more.
  private var process: UInt32 = 0

  init() {}

  var isEmpty: Bool { first == nil || process != Self.thisProcess }

  private static var thisProcess: UInt32 { Thread.forkGeneration &+ 1 }

  /// Forgets the parent's waiters.
  @inline(__always)
  private mutating func leaveToParent() {
    if process == Self.thisProcess { return }
    process = Self.thisProcess
    first = nil
    last = nil
  }

  /// unsafe: the waiter lives until it has been removed.
  mutating func append(_ waiter: UnsafeMutablePointer<Waiter>) {
    leaveToParent()
    waiter.pointee.process = process
    waiter.pointee.next = nil
    waiter.pointee.previous = last
    if let last { last.pointee.next = waiter } else { first = waiter }
    last = waiter
  }

  /// Removes the waiter that has waited longest.
  mutating func popFirst() -> UnsafeMutablePointer<Waiter>? {
    leaveToParent()
    guard let waiter = first else { return nil }
    remove(waiter)
    return waiter
  }

  /// Removes a waiter that is in this list, or that was when the process was forked.
  mutating func remove(_ waiter: UnsafeMutablePointer<Waiter>) {
    let next = waiter.pointee.next
    let previous = waiter.pointee.previous
    let isForgotten = waiter.pointee.process != Self.thisProcess
    waiter.pointee.process = 0
    if isForgotten { return }
    if let previous { previous.pointee.next = next } else { first = next }
    if let next { next.pointee.previous = previous } else { last = previous }
    waiter.pointee.next = nil
    waiter.pointee.previous = nil
  }

  /// Chooses all waiters: none is listed any more, all are owed their token. They are to be woken outside of the lock:
  /// a waiter that runs at once would find the lock held by a thread that it has displaced.
  mutating func chooseAll() -> ChosenWaiters {
    leaveToParent()
    let chosen = ChosenWaiters(first: first)
    var waiter = first
    while let current = waiter {
      current.pointee.process = 0
      waiter = current.pointee.next
    }
    first = nil
    last = nil
    return chosen
  }
}

/// Waiters that have been chosen and not woken yet, oldest first. A chosen waiter stays until its token comes.
struct ChosenWaiters: ~Copyable {
  fileprivate let first: UnsafeMutablePointer<Waiter>?

  /// Gives each its token; to be called once, without the list's lock.
  consuming func wakeAll() {
    var waiter = first
    while let current = waiter {
      // Read before the token: the waiter's stack frame may be gone afterwards.
      waiter = current.pointee.next
      Waiter.wake(current)
    }
  }
}
