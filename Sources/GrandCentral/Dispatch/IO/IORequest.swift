// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Something that may take long: a read or write that the page cache does not serve, looking at a path, opening it, or
/// closing it. The kernel's ring carries it out, or a helper.
///
/// IORequest.R1  While it is on its way it owns what its spans cover: the operation may end before it (`abandon`).
/// IORequest.R2  The file has one user more from `abandon` on, so that the descriptor stays until the request is done.
/// IORequest.R3  The turn of an abandoned request's operation goes on when both have happened: the request is done, and the
///     last delivery is on its way, or the operation trails. So no operation reads or writes at a position that the request is about to move. What an
///     abandoned read has brought is left to the next one: the position goes back. That moves it for others as well that share it, so a
///     read at a position is abandoned only if it takes long (IOOperation.C1).
final class IORequest: @unchecked Sendable {  // handed from the step to the ring or a helper and back, by `fate`
  static let mostSpans = 16

  enum Fate {
    static let pending: UInt8 = 0
    static let landed: UInt8 = 1
    static let abandoned: UInt8 = 2
  }

  /// What is done for a file, in place of a transfer.
  enum Task {
    case examine, open
    /// No user is left: the descriptor, and then the cleanup handlers.
    case close(Int32)
  }

  let file: IOFile
  /// Nil for a transfer.
  private let task: Task?
  /// Nil for a task.
  let operation: IOOperation?
  let writes: Bool
  let offset: Int64
  let spans: UnsafeMutablePointer<IOSpan>
  let count: Int
  /// Written by the ring's reader or the helper, until `landed`.
  var result = 0
  private let fate = Atomic<UInt8>(Fate.pending)
  /// One of the two that IORequest.R3 names has happened.
  private let isHalfOver = Atomic<Bool>(false)
  /// The step's, until `abandon`: what the spans cover.
  var buffer: UnsafeMutableRawPointer?
  /// Guarded by the scheduler's lock.
  var next: IORequest?

  init(_ task: Task, of file: IOFile) {
    self.file = file
    self.task = task
    operation = nil
    writes = false
    offset = 0
    spans = .allocate(capacity: 1)
    count = 0
  }

  init(_ operation: IOOperation, _ file: IOFile, _ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64) {
    self.file = file
    task = nil
    self.operation = operation
    writes = operation.direction == .write
    self.offset = offset
    self.spans = .allocate(capacity: count)
    self.spans.initialize(from: spans, count: count)
    self.count = count
  }

  deinit { spans.deallocate() }

  /// Whether the kernel's ring may carry it out (IOScheduler.P1).
  var takesRing: Bool { operation != nil && offset != FileReading.Offset.position && file.takesRing }

  /// Whether the ring's result says that the kernel has not carried it out, and a helper does: the thread that has handed it over
  /// is gone, or the kernel has no thread for it. An error of the file's own comes again there.
  @_optimize(size)
  func isRefused(_ result: Int) -> Bool {
    switch Errno(result: result) {
    case .badAddress, .canceled, .interrupted, .again:
      // relaxed: one that is abandoned after this is carried out nevertheless.
      return fate.load(ordering: .relaxed) == Fate.pending
    default: return false
    }
  }

  /// Carries it out on this thread.
  func perform() {
    switch task {
    case .examine: return file.look()
    case .open: return file.open()
    case .close(let descriptor):
      FileReading.close(descriptor)
      return file.finish()
    case nil: break
    }
    let descriptor = file.rawDescriptor
    complete(
      writes
        ? FileReading.write(descriptor, spans, count, at: offset, mayBreak: file.mayBreak)
        : FileReading.read(descriptor, spans, count, at: offset))
  }

  func complete(_ result: Int) {
    self.result = result
    // pairs with: abandon – publishes the result; an exchange that fails takes over what was abandoned
    let landed = fate.compareExchange(
      expected: Fate.pending, desired: Fate.landed, successOrdering: .releasing, failureOrdering: .acquiring
    ).exchanged
    if landed { return operation?.kick(IOState.landed) ?? () }
    if let buffer { IOScheduler.shared.buffers.give(buffer) }
    if result > 0, offset == FileReading.Offset.position {
      FileReading.advance(file.rawDescriptor, by: -result)
    }
    if let operation, endsTurn() { file.leave(operation) }
    IOScheduler.shared.files.leave(file)
  }

  /// One of the two that IORequest.R3 names has happened. Returns whether it is the second: then the caller ends the turn.
  func endsTurn() -> Bool {
    // pairs with: itself – publishes that the last delivery is on its way, or where the position is
    isHalfOver.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// The step: the operation ends without the result. False if there is a result already.
  func abandon(_ buffer: UnsafeMutableRawPointer?) -> Bool {
    IOScheduler.shared.files.enter(file)
    self.buffer = buffer
    // pairs with: complete – publishes what is handed over; an exchange that fails takes over the result
    let abandoned = fate.compareExchange(
      expected: Fate.pending, desired: Fate.abandoned, successOrdering: .releasing, failureOrdering: .acquiring
    ).exchanged
    if abandoned { return true }
    self.buffer = nil
    IOScheduler.shared.files.leave(file)
    return false
  }
}

/// Requests that wait; first in, first out. The user's lock guards it.
struct IORequestList: ~Copyable {
  private var first: IORequest?
  private var last: IORequest?

  mutating func append(_ request: IORequest) {
    if let last { last.next = request } else { first = request }
    last = request
  }

  mutating func popFirst() -> IORequest? {
    guard let request = first else { return nil }
    first = request.next
    request.next = nil
    if first == nil { last = nil }
    return request
  }
}
