// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if Tasks || !HAS_TRAITS
  // The kinds of sources as sequences. `queue` is where the source leaves its events; the loop runs wherever its task does.
  extension DispatchSource {
    /// Fires every `interval`; the element is the number of fires since the last one.
    ///
    /// ```swift
    /// for await _ in DispatchSource.timer(every: .seconds(1)) { refresh() }
    /// ```
    ///
    /// The first fire is an interval after the loop has begun. Fires may be up to `leeway` late, to share a wake-up.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func timer(
      every interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0), queue: DispatchQueue? = nil
    ) -> Events<UInt> {
      Events { mailbox in
        let source = makeTimerSource(queue: queue)
        source.schedule(deadline: .now() + interval, repeating: interval, leeway: leeway)
        return mailbox.attach(source) { source.data }
      }
    }

    /// Fires when the process gets `signal`; the element is the number of deliveries since the last one.
    ///
    /// ```swift
    /// for await _ in DispatchSource.signals(SIGHUP) { reload() }
    /// ```
    ///
    /// See `makeSignalSource` for what becomes of the signal's default action.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func signals(_ signal: Int32, queue: DispatchQueue? = nil) -> Events<UInt> {
      Events { mailbox in
        let source = makeSignalSource(signal: signal, queue: queue)
        return mailbox.attach(source) { source.data }
      }
    }

    /// Fires while `fileDescriptor` has something to read, or is at its end; the element is an estimate of the bytes, at
    /// least 1.
    ///
    /// ```swift
    /// for await _ in DispatchSource.reads(socket) where !readSome(socket) { break }
    /// ```
    ///
    /// Complexity: O(1). Blocking: never.
    public static func reads(_ fileDescriptor: Int32, queue: DispatchQueue? = nil) -> Events<UInt> {
      Events { mailbox in
        let source = makeReadSource(fileDescriptor: fileDescriptor, queue: queue)
        return mailbox.attach(source) { source.data }
      }
    }

    /// Fires while `fileDescriptor` has room to write; the element is an estimate of the bytes, at least 1.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func writes(_ fileDescriptor: Int32, queue: DispatchQueue? = nil) -> Events<UInt> {
      Events { mailbox in
        let source = makeWriteSource(fileDescriptor: fileDescriptor, queue: queue)
        return mailbox.attach(source) { source.data }
      }
    }

    /// Fires when something of `mask` happens to the file or folder at `path`; the element says what has happened.
    ///
    /// ```swift
    /// for await event in DispatchSource.fileSystemEvents(at: "settings.json", mask: [.write, .delete]) {
    ///   if event.contains(.delete) { break }
    ///   reload()
    /// }
    /// ```
    ///
    /// What is watched is the file that is there when the loop begins, whatever becomes of its name. A file that cannot be
    /// opened is reported on standard error, and the loop ends at once.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func fileSystemEvents(
      at path: String, mask: FileSystemEvent = .all, queue: DispatchQueue? = nil
    ) -> Events<FileSystemEvent> {
      Events { mailbox in
        guard let file = FileDescriptor.openForWatching(path) else {
          Fault.report("DispatchSource.fileSystemEvents cannot open \"" + path + "\". There are no events.")
          return nil
        }
        let descriptor = file.take()
        let source = makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: mask, queue: queue)
        return mailbox.attach(source) {
          source.data
        } cleanUp: {
          _ = FileDescriptor(owning: descriptor)
        }
      }
    }

    /// Fires when something of `mask` happens to the file or folder that `fileDescriptor` is open on.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func fileSystemEvents(
      _ fileDescriptor: Int32, mask: FileSystemEvent = .all, queue: DispatchQueue? = nil
    ) -> Events<FileSystemEvent> {
      Events { mailbox in
        let source = makeFileSystemObjectSource(fileDescriptor: fileDescriptor, eventMask: mask, queue: queue)
        return mailbox.attach(source) { source.data }
      }
    }

    /// The end of a process.
    public struct ProcessExit: Equatable, Sendable {
      /// The process's number.
      public let identifier: Int32
      /// How it has ended; nil when that cannot be known, see `DispatchSourceProcess.exitStatus`.
      public let status: ProcessExitStatus?
    }

    /// Fires once, when the process `identifier`, a child or any other one, has ended; then the loop ends.
    ///
    /// ```swift
    /// for await end in DispatchSource.processExit(child) { print("ended:", end.status as Any) }
    /// ```
    ///
    /// A child is not reaped.
    ///
    /// Complexity: O(1). Blocking: never.
    public static func processExit(_ identifier: Int32, queue: DispatchQueue? = nil) -> Events<ProcessExit> {
      Events { mailbox in
        let source = makeProcessSource(identifier: identifier, eventMask: .exit, queue: queue)
        return mailbox.attach(source, isLast: true) {
          ProcessExit(identifier: identifier, status: source.exitStatus)
        }
      }
    }

    /// Fires when the level of memory pressure changes to one of `mask`; the element is the level.
    ///
    /// ```swift
    /// for await level in DispatchSource.memoryPressure() where level != .normal { cache.trim() }
    /// ```
    ///
    /// Complexity: O(1). Blocking: never.
    public static func memoryPressure(
      mask: MemoryPressureEvent = .all, queue: DispatchQueue? = nil
    ) -> Events<MemoryPressureEvent> {
      memoryPressure(MemoryPressureSource.Setup(), mask: mask, queue: queue)
    }

    /// As above, with the kernel's files elsewhere.
    static func memoryPressure(
      _ setup: MemoryPressureSource.Setup, mask: MemoryPressureEvent = .all, queue: DispatchQueue? = nil
    ) -> Events<MemoryPressureEvent> {
      Events { mailbox in
        let source = MemoryPressureSource(setup, mask: mask.rawValue, queue: queue)
        return mailbox.attach(source) { (source as any DispatchSourceMemoryPressure).data }
      }
    }
  }
#endif
