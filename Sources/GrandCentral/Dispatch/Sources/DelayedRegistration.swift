// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A registration that the kernel refuses for want of something, descriptors for instance, is delayed: the source stays
// active, and is registered when the kernel has what it needs. `Retries` has the list and the timer, `SourceState` the bit.
extension DispatchSource {
  enum Registration: Equatable {
    case done
    /// A retry concludes it.
    case delayed
    /// The source was cancelled before it was registered.
    case withdrawn
    case failed(Errno)
  }

  /// The activator's attempt to register.
  final func registerOrDelay() -> Registration {
    guard let error = register() else { return .done }
    return error.isShortage ? delay(error) : .failed(error)
  }

  @inline(never)
  private final func delay(_ error: Errno) -> Registration {
    // unsafe: freed by `freeRetry`, when no thread can have it any more.
    let retry = Retry.Pointer.allocate(capacity: 1)
    retry.initialize(
      to: Retry(context: Borrowed(self).word, attempt: DispatchSource.registerAgain))
    self.retry = retry
    guard state.update({ $0.didDelay() }) == .waits else { return .withdrawn }
    let engine = Engine.shared
    return engine.pointee.retries.add(retry, refusedWith: error, in: engine.pointee) ? .delayed : .withdrawn
  }

  private static let registerAgain: Retry.Attempt = { context, isWithdrawn in
    // unsafe: the active source keeps itself alive until its registration has been concluded, and this concludes it.
    Borrowed<DispatchSource>(word: context).use { source in
      if isWithdrawn {
        source.conclude(.withdrawn)
        return 0
      }
      let error = source.register()
      if let error, error.isShortage { return error.code }
      source.conclude(error.map { .failed($0) } ?? .done)
      return 0
    }
  }

  /// The source was cancelled while its registration is delayed.
  final func withdraw() {
    if let retry, Engine.current.retries.withdraw(retry) { conclude(.withdrawn) }
  }

  final func freeRetry() {
    retry?.deinitialize(count: 1)
    retry?.deallocate()
  }
}
