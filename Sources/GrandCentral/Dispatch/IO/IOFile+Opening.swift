// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// How a file of a path comes to its descriptor, and what goes wrong on the way.
//
//   examine   When a channel is made, a helper looks at the path, without opening it. What that finds is an error of making
//             the channel: nothing is there, a folder is there, a random channel meets a pipe. The channel ends at once,
//             its cleanup handler gets the error.
//   open      When an operation needs the file, a helper opens it. What that finds is an error of the operation, and of all
//             that the channel gets afterwards; the cleanup handler gets 0. Other channels of the file try again. A barrier
//             that asks for the descriptor opens the file itself, or waits for the helper that does.
//
// The same distinction is libdispatch's; Documentation/ChannelErrors.md has the cases.

/// What is known of a path. The file's lock guards it.
struct IOExamination {
  var isUnderWay = false
  /// Nil until it is known: an error number or 0, and whether a file there has a position.
  var finding: (error: Int32, seeks: Bool)?
  var waiting: [IOChannel] = []

  @_optimize(size)
  func verdict(isRandom: Bool) -> Int32? {
    guard let finding else { return nil }
    return finding.error != 0 || finding.seeks || !isRandom ? finding.error : Errno.illegalSeek.code
  }
}

extension IOFile {
  enum Opening {
    static let unopened: Int32 = 0
    static let opening: Int32 = 1
    static let open: Int32 = 2
  }

  // MARK: Examining

  /// Tells the channel whether it can be made for this path: now, or when a helper has looked.
  @_optimize(size)
  func examine(for channel: IOChannel) {
    lock.lock()
    if let verdict = examination.verdict(isRandom: channel.isRandom) {
      lock.unlock()
      return channel.didExamine(verdict)
    }
    examination.waiting.append(channel)
    let isFirst = !examination.isUnderWay
    examination.isUnderWay = true
    lock.unlock()
    if isFirst { request(.examine) }
  }

  /// A helper: looks at the path.
  @_optimize(size)
  func look() {
    let found = path.map { FileReading.examine($0, flags) } ?? .failure(.badDescriptor)
    lock.lock()
    switch found {
    case .success(let seeks): examination.finding = (0, seeks)
    case .failure(let error): examination.finding = (error.code, false)
    }
    let waiting = examination.waiting
    examination.waiting = []
    let verdicts = waiting.map { examination.verdict(isRandom: $0.isRandom) ?? 0 }
    lock.unlock()
    for (channel, verdict) in zip(waiting, verdicts) { channel.didExamine(verdict) }
    IOScheduler.shared.files.leave(self)
  }

  @_optimize(size)
  private func request(_ task: IORequest.Task) {
    let scheduler = IOScheduler.shared
    // The operations may be stopped, and the channels gone, before it is done.
    scheduler.files.enter(self)
    scheduler.start(IORequest(task, of: self))
  }

  // MARK: Opening

  enum Readiness: Equatable {
    case open
    /// The operation is kicked when that has changed.
    case later
    case failed(Int32)
  }

  /// The step: whether the file can be used.
  @inline(__always)
  @_optimize(size)
  func readiness(for operation: IOOperation) -> Readiness {
    // pairs with: open – publishes the descriptor and what is known of it
    opening.load(ordering: .acquiring) == Opening.open ? .open : readinessSlow(for: operation)
  }

  /// Why it must not be used; 0 unless it is spoiled.
  var spoiledError: Int32 {
    // relaxed: a number by itself.
    -min(0, opening.load(ordering: .relaxed))
  }

  @inline(never)
  @_optimize(size)
  private func readinessSlow(for operation: IOOperation) -> Readiness {
    lock.lock()
    // relaxed: written under the lock.
    let now = opening.load(ordering: .relaxed)
    if now == Opening.open {
      lock.unlock()
      return .open
    }
    let failure = now < 0 ? -now : operation.openError != 0 ? operation.openError : operation.channel?.failure ?? 0
    if failure != 0 {
      lock.unlock()
      return .failed(failure)
    }
    waitingForOpen.append(operation)
    // relaxed: under the lock.
    if now == Opening.unopened { opening.store(Opening.opening, ordering: .relaxed) }
    lock.unlock()
    if now == Opening.unopened { request(.open) }
    return .later
  }

  /// A helper: opens the path.
  @_optimize(size)
  func open() {
    _ = openPath()
    IOScheduler.shared.files.leave(self)
  }

  /// Opens the path, now that `opening` says so; the error number, or 0.
  @_optimize(size)
  private func openPath() -> Int32 {
    var result = path.map { FileReading.open($0, flags, mode) } ?? -Errno.badDescriptor.code
    if result >= 0 {
      switch DescriptorKind.of(result) {
      case .success(let kind):
        note(kind)
        // relaxed: published by `opening`.
        descriptor.store(result, ordering: .relaxed)
        // relaxed: as above.
        opener.store(Thread.forkGeneration, ordering: .relaxed)
        result = Opening.open
      case .failure(let error):
        FileReading.close(result)
        result = -error.code
      }
    }
    lock.lock()
    // pairs with: readiness – publishes the descriptor and what is known of it
    opening.store(result < 0 ? Opening.unopened : result, ordering: .releasing)
    let waiting = waitingForOpen
    waitingForOpen = []
    if result < 0 { for operation in waiting { operation.openError = -result } }
    let barriers = barriersWaitingForOpen
    barriersWaitingForOpen = []
    lock.unlock()
    for operation in waiting { operation.kick() }
    for barrier in barriers { barrier.signal() }
    return result < 0 ? -result : 0
  }

  /// A barrier of the channel asks for the descriptor of a path; -1 if that cannot be opened.
  @_optimize(size)
  func openForBarrier(of channel: IOChannel) -> Int32 {
    lock.lock()
    // relaxed: written under the lock.
    switch opening.load(ordering: .relaxed) {
    case Opening.unopened:
      // relaxed: under the lock.
      opening.store(Opening.opening, ordering: .relaxed)
      lock.unlock()
      let error = openPath()
      if error != 0 { channel.fail(error) }
    case Opening.opening:
      // For another channel of the file.
      let opened = DispatchSemaphore(value: 0)
      barriersWaitingForOpen.append(opened)
      lock.unlock()
      opened.wait()
    default: lock.unlock()
    }
    return rawDescriptor
  }

  /// The step: the descriptor is bad, whatever is done with it.
  @inline(never)
  @_optimize(size)
  func spoil(_ error: Errno) {
    lock.lock()
    // relaxed: a number by itself.
    opening.store(-error.code, ordering: .relaxed)
    lock.unlock()
  }
}
