// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A descriptor while channels have it, and the turns in which operations use it.
///
///   unopened ──operation──► opening ──helper──► open ──last user leaves──► given back
///       ▲                      │                  └──EBADF──► spoiled
///       └──────not opened──────┘
///
/// A file made from a descriptor is open from the start. A file made from a path is opened when an operation needs it, and
/// closed when the last user leaves; see IOFile+Opening.swift. A descriptor is spoiled once a read or write has failed with
/// EBADF: no operation of a channel tries it again. Users are channels, single reads and writes, and abandoned requests; they
/// are counted by `IOFiles`.
///
/// **Turns.** Stream operations have the file one after the other, those that read beside those that write; random ones
/// have it up to `mostRandom` at a time. An operation keeps its turn until it transfers no more. If its handler is out then, its
/// last call is still to come: it *trails*. The next operation has the turn nevertheless, for its handler may be called by
/// another queue, on which the one that is out may wait. If one serial queue calls the handlers of both, the next one's first call
/// comes behind the last call of the one that trails: so deliveries come in the order of the operations. One that is stopped ends
/// without a turn, for the turn may be another channel's; see IOChannel.B5.
///
/// **Manners.** Nothing here waits in the kernel, but the file's own flags are left alone where that is possible: sockets are
/// asked call by call, files and pipes by RWF_NOWAIT. A file that supports neither, for example a terminal, is switched to
/// O_NONBLOCK for every process that has it open, and switched back when the last user leaves.
final class IOFile: @unchecked Sendable {  // immutable, atomic, or guarded as said at the fields
  enum Direction {
    case read, write
  }

  enum Manner {
    static let file: UInt8 = 0
    static let socket: UInt8 = 1
    /// Asked by RWF_NOWAIT.
    static let asked: UInt8 = 2
    /// O_NONBLOCK is set.
    static let nonBlocking: UInt8 = 3
  }

  private static let mostRandom = 32

  /// Null-terminated, for a file that is the channels' own.
  let path: UnsafeMutablePointer<CChar>?
  /// The generation of the process that has opened the path: only there the descriptor is closed by its number. In a child it may be of another
  /// file by then.
  let opener = Atomic<UInt32>(0)
  let flags: Int32
  let mode: UInt32
  /// Known of a descriptor's file only.
  let isFolder: Bool
  /// -1 before it is open, and once it was given back.
  let descriptor: Atomic<Int32>
  /// `Opening`, or the negated error number of a spoiled file. Written under `lock`.
  let opening: Atomic<Int32>
  /// `Manner`.
  let manner: Atomic<UInt8>
  /// RWF_NOWAIT is refused, in this direction: a file system may know it for reading alone. Only ever set.
  let refusesAskingToRead = Atomic<Bool>(false)
  let refusesAskingToWrite = Atomic<Bool>(false)
  let isAlwaysReady = Atomic<Bool>(false)
  /// Pipes; set before it is open, as the one below is.
  private let pipe = Atomic<Bool>(false)
  private let largestMessage = Atomic<Int>(0)
  /// O_NONBLOCK is the channels', of this file or of one that shares it. Written under the lock of `IOFiles`.
  let isSwitched = Atomic<Bool>(false)
  /// By direction; see IOFile+Waiting.swift.
  let waits: (IOWait, IOWait) = (IOWait(), IOWait())

  let lock = Lock()
  /// Guarded by `lock`.
  @exclusivity(unchecked) var waitingForOpen: [IOOperation] = []
  /// Guarded by `lock`: each is signalled when a helper has tried to open the path.
  @exclusivity(unchecked) var barriersWaitingForOpen: [DispatchSemaphore] = []
  @exclusivity(unchecked) var examination = IOExamination()
  @exclusivity(unchecked) var barriers = IOBarriers()
  @exclusivity(unchecked) private var turns = (IOTurns(width: 1), IOTurns(width: 1), IOTurns(width: mostRandom))
  /// Guarded by the lock of `IOFiles`.
  @exclusivity(unchecked) var users = 1
  @exclusivity(unchecked) var cleanups: [IOCleanup] = []

  /// For an open descriptor.
  @_optimize(size)
  init(_ descriptor: Int32, _ kind: DescriptorKind) {
    path = nil
    flags = 0
    mode = 0
    isFolder = kind.isFolder
    self.descriptor = Atomic(descriptor)
    opening = Atomic(Opening.open)
    manner = Atomic(Self.manner(kind))
    note(kind)
  }

  /// What was found out about its descriptor.
  func note(_ kind: DescriptorKind) {
    // relaxed: before the file is open.
    pipe.store(kind.isPipe, ordering: .relaxed)
    largestMessage.store(kind.largestMessage, ordering: .relaxed)
    // relaxed: before the file is open.
    manner.store(Self.manner(kind), ordering: .relaxed)
  }

  /// For a path.
  @_optimize(size)
  init(path: UnsafePointer<CChar>, flags: Int32, mode: UInt32) {
    var length = 0
    while path[length] != 0 { length += 1 }
    // unsafe: freed in deinit.
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: length + 1)
    copy.initialize(from: path, count: length + 1)
    self.path = copy
    self.flags = flags
    self.mode = mode
    isFolder = false
    descriptor = Atomic(-1)
    opening = Atomic(Opening.unopened)
    manner = Atomic(Manner.file)
  }

  deinit { path?.deallocate() }

  private static func manner(_ kind: DescriptorKind) -> UInt8 {
    if kind.isSocket { return Manner.socket }
    if kind.isFile { return Manner.file }
    return kind.isNonBlocking ? Manner.nonBlocking : Manner.asked
  }

  var rawDescriptor: Int32 {
    // relaxed: code that uses it has seen `opening` before.
    descriptor.load(ordering: .relaxed)
  }

  /// Whether writing may meet a pipe that no process reads.
  var mayBreak: Bool {
    // relaxed: written before `opening`.
    pipe.load(ordering: .relaxed)
  }

  var isPipe: Bool { mayBreak }

  /// The room that a read needs to lose nothing (IOOperation.M1); 0 of a stream of bytes.
  var leastRoom: Int {
    // relaxed: written before `opening`.
    min(largestMessage.load(ordering: .relaxed), IOBuffers.size)
  }

  /// Whether it is known that a read brings one message, or whole records, and loses or refuses what it has no room for.
  var keepsMessages: Bool { leastRoom == IOBuffers.size }

  /// Whether the kernel's ring serves it. The ring refuses others that have O_NONBLOCK.
  var takesRing: Bool {
    // relaxed: set before it is open.
    manner.load(ordering: .relaxed) == Manner.file
  }

  // MARK: Turns

  /// The operation, of no channel, joins; it is kicked when it has its turn.
  func join(_ operation: IOOperation) {
    if lock.withLock({ isTurn(of: operation) }) { operation.kick(IOState.turn) }
  }

  /// Guarded by `lock`: the operation joins; whether it has its turn at once.
  func isTurn(of operation: IOOperation) -> Bool { withTurns(operation) { $0.join(operation) } }

  /// The operation transfers no more, and its last call is still to come. It leaves then, unless a request needs its turn.
  func trail(_ operation: IOOperation) {
    lock.withLock { withTurns(operation) { $0.trail(operation) } }
  }

  /// The last call of an operation that trailed is on its way.
  func trailNoMore(_ operation: IOOperation) {
    let next = lock.withLock { withTurns(operation) { $0.trailNoMore(operation) } }
    next?.kick(0, clearing: IOState.behind)
  }

  /// The operation transfers no more, whether it had its turn or not.
  func leave(_ operation: IOOperation) {
    lock.lock()
    let next = withTurns(operation) { $0.leave(operation) }
    lock.unlock()
    next?.kick(IOState.turn)
  }

  private func withTurns<R>(_ operation: IOOperation, _ body: (inout IOTurns) -> R) -> R {
    if operation.isRandom { return body(&turns.2) }
    return operation.direction == .read ? body(&turns.0) : body(&turns.1)
  }

  // MARK: The end

  /// Guarded by the lock of `IOFiles`: there is no user any more. `keepsSwitch` says that another file shares O_NONBLOCK and
  /// needs it. Returns what is to be closed, or -1.
  func giveBack(keepsSwitch: Bool) -> Int32 {
    endWaits()
    // relaxed: the last user.
    let raw = descriptor.exchange(-1, ordering: .relaxed)
    if raw < 0 || path != nil { return raw }
    // relaxed: written under the lock.
    if isSwitched.load(ordering: .relaxed), !keepsSwitch { FileReading.setNonBlocking(raw, false) }
    return -1
  }

  /// As `giveBack`, in a child of a fork: the descriptor is the parent's.
  func leaveToParent() -> Int32 {
    endWaits()
    return -1
  }

  /// What the child has listed of the parent's file goes, too. What the parent has listed is in no table here.
  @_optimize(size)
  private func endWaits() {
    waits.0.end()
    waits.1.end()
  }

  /// Sends the cleanup handlers.
  func finish() {
    for cleanup in cleanups { cleanup.submit(0) }
    cleanups = []
  }
}

/// Operations that want the same thing of a file; a limited number of them has it at a time. The file's lock guards it.
struct IOTurns {
  private let width: Int
  private var running = 0
  private var first: IOOperation?
  private var last: IOOperation?
  /// Of those that trail, the newest of each order: the next one of that order has its first call behind that one's last.
  private var trailing = IOOrders()

  init(width: Int) { self.width = width }

  /// Whether it is the operation's turn at once.
  mutating func join(_ operation: IOOperation) -> Bool {
    // It was cancelled on its way here.
    if operation.place == .left { return false }
    if running < width {
      running += 1
      begin(operation)
      return true
    }
    operation.place = .waits
    operation.previous = last.map { Borrowed($0) }
    if let last { last.next = operation } else { first = operation }
    last = operation
    return false
  }

  /// Returns the operation that has its turn now.
  mutating func leave(_ operation: IOOperation) -> IOOperation? {
    let place = operation.place
    operation.place = .left
    if place == .waits { remove(operation) }
    if place != .hasTurn { return nil }
    guard let next = first else {
      running -= 1
      return nil
    }
    remove(next)
    begin(next)
    return next
  }

  /// It is kicked with its turn afterwards, so it sees what is noted here.
  private mutating func begin(_ operation: IOOperation) {
    operation.place = .hasTurn
    // Only what is of an order trails.
    guard let one = trailing.newest(of: operation.order) else { return }
    one.behind = operation
    operation.stayBehind()
  }

  mutating func trail(_ operation: IOOperation) {
    if operation.endsInOrder { trailing.note(operation) }
  }

  /// Returns the operation whose handler may be called now.
  mutating func trailNoMore(_ operation: IOOperation) -> IOOperation? {
    if !operation.endsInOrder { return nil }
    if trailing.newest(of: operation.order) === operation { trailing.forget(operation.order) }
    let behind = operation.behind
    operation.behind = nil
    return behind
  }

  /// One that waits is stopped, or has its turn: those of others may wait for as long as they like.
  private mutating func remove(_ operation: IOOperation) {
    let (previous, next) = (operation.previous?.object, operation.next)
    if let previous { previous.next = next } else { first = next }
    if let next { next.previous = operation.previous } else { last = previous }
    operation.next = nil
    operation.previous = nil
  }
}
