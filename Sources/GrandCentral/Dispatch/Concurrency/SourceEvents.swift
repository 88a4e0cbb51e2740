// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if Tasks || !HAS_TRAITS
  extension DispatchSource {
    /// The events of a source, one after another.
    ///
    /// ```swift
    /// for await bytes in DispatchSource.reads(socket) { readSome(socket, bytes) }
    /// ```
    ///
    /// Each loop has a source of its own, from the moment at which it begins. While the loop's body runs the source is
    /// suspended: what happens meanwhile is merged into one event, as sources do, so nothing piles up. Leaving the loop, or
    /// cancelling its task, cancels the source; a descriptor may be closed afterwards.
    public struct Events<Element: Sendable>: AsyncSequence, Sendable {
      /// Events do not fail.
      public typealias Failure = Never

      /// Makes a source that delivers to the mailbox, not active yet; nil if there is nothing to watch.
      private let make: @Sendable (EventMailbox<Element>) -> (any DispatchSourceProtocol)?

      init(_ make: @escaping @Sendable (EventMailbox<Element>) -> (any DispatchSourceProtocol)?) { self.make = make }

      /// Begins to watch.
      public func makeAsyncIterator() -> Iterator {
        let mailbox = EventMailbox<Element>()
        let source = make(mailbox)
        if source == nil { mailbox.close() }
        source?.activate()
        return Iterator(reader: EventReader(mailbox, source))
      }

      /// A loop over the events, with the source that it has.
      ///
      /// One task at a time may wait for an event: a second one traps (GC0040). Give each task a loop of its own.
      public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: EventReader<Element>

        /// The next event; nil when the source, or the task, has been cancelled.
        public func next() async -> Element? { await reader.next() }

        /// The next event; nil when the source, or the task, has been cancelled.
        public func next(isolation actor: isolated (any Actor)?) async -> Element? { await reader.next() }
      }
    }
  }

  /// The place where a source leaves its event and a task takes it. It holds at most one event: the source is suspended until
  /// the event is taken and the next one is asked for.
  final class EventMailbox<Element: Sendable>: @unchecked Sendable {  // all fields are guarded by `lock`
    private let lock = Lock()
    /// Guarded by `lock`: delivered, and not taken.
    @exclusivity(unchecked) private var event: Element?
    /// Guarded by `lock`: the task that waits for one.
    @exclusivity(unchecked) private var continuation: UnsafeContinuation<Element?, Never>?
    /// Guarded by `lock`: no event comes any more.
    @exclusivity(unchecked) private var isClosed = false
    /// Guarded by `lock`: suspended by `deliver`.
    @exclusivity(unchecked) private var isSuspended = false

    /// Sets the source's handlers: `read` says what has happened, `cleanUp` runs in the end. With `isLast` the first event is
    /// the last one.
    func attach(
      _ source: any DispatchSourceProtocol, isLast: Bool = false, read: @escaping @Sendable () -> Element,
      cleanUp: @escaping @Sendable () -> Void = {}
    ) -> any DispatchSourceProtocol {
      source.setEventHandler {
        self.deliver(read(), from: source, isLast: isLast)
        if isLast { source.cancel() }
      }
      source.setCancelHandler {
        self.close()
        cleanUp()
      }
      return source
    }

    private func deliver(_ event: Element, from source: any DispatchSourceProtocol, isLast: Bool) {
      lock.lock()
      if isClosed { return lock.unlock() }
      isClosed = isLast
      if !isLast {
        isSuspended = true
        source.suspend()
      }
      let waiting = continuation
      continuation = nil
      if waiting == nil { self.event = event }
      lock.unlock()
      waiting?.resume(returning: event)
    }

    /// Takes the event, or waits for one. The call says that the task has dealt with the event before, so the source goes on.
    func take(_ continuation: UnsafeContinuation<Element?, Never>, from source: (any DispatchSourceProtocol)?) {
      lock.lock()
      if let event = event {
        self.event = nil
        lock.unlock()
        return continuation.resume(returning: event)
      }
      if isClosed {
        lock.unlock()
        return continuation.resume(returning: nil)
      }
      if self.continuation != nil {
        lock.unlock()
        trapSecondTask()
      }
      self.continuation = continuation
      let wasSuspended = isSuspended
      isSuspended = false
      lock.unlock()
      if wasSuspended { source?.resume() }
    }

    /// No event comes any more; one that is there is still taken.
    func close() {
      lock.lock()
      isClosed = true
      let waiting = continuation
      continuation = nil
      lock.unlock()
      waiting?.resume(returning: nil)
    }

    /// Closes, drops what is there, and cancels the source.
    ///
    /// In one critical section: if a delivery came between the two halves, it would suspend the source, and nothing would resume
    /// it.
    func cancel(_ source: (any DispatchSourceProtocol)?) {
      lock.lock()
      isClosed = true
      let (dropped, waiting, wasSuspended) = (event, continuation, isSuspended)
      (event, continuation, isSuspended) = (nil, nil, false)
      lock.unlock()
      withExtendedLifetime(dropped) {}
      waiting?.resume(returning: nil)
      source?.cancel()
      // A suspended source would keep its cancel handler for ever.
      if wasSuspended { source?.resume() }
    }
  }

  /// Not generic: one function serves the events of all kinds.
  @inline(never)
  @_optimize(size)
  private func trapSecondTask() -> Never {
    Fault.misuse(
      .eventsOfTwoTasks,
      "two tasks wait for an event of one iterator of DispatchSource.Events, which has room for one of them. Give each "
        + "task an iterator of its own.")
  }

  /// Keeps the source alive while the task reads from it.
  private final class EventReader<Element: Sendable>: Sendable {
    private let mailbox: EventMailbox<Element>
    private let source: (any DispatchSourceProtocol)?

    init(_ mailbox: EventMailbox<Element>, _ source: (any DispatchSourceProtocol)?) {
      self.mailbox = mailbox
      self.source = source
    }

    deinit { mailbox.cancel(source) }

    nonisolated(nonsending) func next() async -> Element? {
      await withTaskCancellationHandler {
        await withUnsafeContinuation { mailbox.take($0, from: source) }
      } onCancel: {
        mailbox.cancel(source)
      }
    }
  }
#endif
