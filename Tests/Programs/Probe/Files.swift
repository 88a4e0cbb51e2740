// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let files: [String: Body] = [
    "files-closed": filesClosed, "files-overflow": filesOverflow, "files-fork": filesFork,
    "descriptors-closed-cancelled": descriptorsClosedCancelled, "descriptors-closed": descriptorsClosed,
    "descriptors-closed-duplicate": descriptorsClosedDuplicate, "standard-streams-closed": standardStreamsClosed,
  ]

  /// A file without a name, but the one under `/proc`.
  private static func temporary() -> Int32 {
    var template = Array("/tmp/gc-probe-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    require(descriptor >= 0, "mkstemp")
    unlink(template)
    return descriptor
  }

  private static func watch(
    _ descriptor: Int32, _ handler: @escaping @Sendable (DispatchSource.FileSystemEvent) -> Void
  ) -> any DispatchSourceFileSystemObject {
    let source = DispatchSource.makeFileSystemObjectSource(
      fileDescriptor: descriptor, eventMask: .all, queue: .global())
    source.setEventHandler { [unowned source] in handler(source.data) }
    source.activate()
    return source
  }

  /// A read and a write source of one descriptor, which both end, and which `body` meets on their queue.
  private static func closingUnderSources(
    _ body: @escaping @Sendable (any DispatchSourceRead, any DispatchSourceWrite) -> Void
  ) {
    guard let ends = Kernel.closeOnExecSockets() else { return require(false, "descriptors") }
    let (queue, registered, cancelled) = (DispatchQueue(label: "sources"), Latch(2), Latch(2))
    let reader = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: queue)
    let writer = DispatchSource.makeWriteSource(fileDescriptor: ends.readEnd, queue: queue)
    for source in [reader, writer] as [any DispatchSourceProtocol] {
      source.setRegistrationHandler { registered.open() }
      source.setCancelHandler { cancelled.open() }
      source.activate()
    }
    require(registered.wait(), "registered")
    queue.sync {
      close(ends.readEnd)
      body(reader, writer)
    }
    require(cancelled.wait(), "cancelled")
  }

  /// As a client of a library does that closes its connections itself.
  private static let descriptorsClosedCancelled: Body = {
    closingUnderSources { reader, writer in
      reader.cancel()
      writer.cancel()
    }
  }

  /// The write source is forgotten.
  private static let descriptorsClosed: Body = {
    closingUnderSources { reader, writer in reader.cancel() }
  }

  /// Closes a descriptor, of which a duplicate stays open, under a source whose handler takes nothing.
  private static let descriptorsClosedDuplicate: Body = {
    guard let ends = Kernel.closeOnExecPipe() else { return require(false, "descriptors") }
    let (keeper, calls, began, over) = (dup(ends.readEnd), Counter(), Latch(), Latch())
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: .global())
    source.setEventHandler {
      calls.add()
      began.open()
    }
    source.activate()
    require(write(ends.writeEnd, "x", 1) == 1, "a byte was written")
    require(began.wait(), "an event")
    close(ends.readEnd)
    let before = calls.value
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(300)) { over.open() }
    require(over.wait(), "a timer")
    report("calls", calls.value - before)
    source.cancel()
    close(keeper)
  }

  /// A program that was started without standard streams, and that becomes a daemon later.
  private static let standardStreamsClosed: Body = {
    let output = dup(1)
    for stream in 0...2 as ClosedRange<Int32> { close(stream) }
    let seen = Counter()
    let useAll: @Sendable () -> Void = {
      let (done, fired) = (Latch(3), Latch())
      let file = watch(temporary()) { _ in done.open() }
      let timer = DispatchSource.makeTimerSource(queue: .global())
      timer.setEventHandler { done.open() }
      timer.schedule(wallDeadline: .now() + .milliseconds(2))
      timer.activate()
      guard let ends = Kernel.closeOnExecPipe() else { return }
      DispatchIO.read(fromFileDescriptor: ends.readEnd, maxLength: 1, runningHandlerOn: .global()) { _, _ in done.open()
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(3)) {
        fired.open()
        _ = write(ends.writeEnd, "x", 1)
        fchmod(Int32(file.handle), 0o600)
      }
      if fired.wait(), done.wait() { seen.add() }
    }
    // The probe's own descriptors take the numbers as well, so it has these closed again.
    useAll()
    let null = open("/dev/null", O_RDWR)
    for stream in 0...2 as ClosedRange<Int32> where stream != null { dup2(null, stream) }
    useAll()
    dup2(output, 1)
    report("used", seen.value)
  }

  /// Closes a descriptor under its source, then has something happen to the file.
  private static let filesClosed: Body = {
    let (file, keeper, cancelled, calls) = (temporary(), Unprotected<Int32>(-1), Latch(), Counter())
    keeper.value = dup(file)
    let source = watch(file) { _ in calls.add() }
    source.setCancelHandler { cancelled.open() }
    close(file)
    fchmod(keeper.value, 0o640)
    require(cancelled.wait(), "cancelled")
    require(calls.value == 0, "no event")
  }

  /// Changes two files, each watched by many sources, faster than all of them can be told.
  private static let filesOverflow: Body = {
    let busy = [temporary(), temporary()]
    let sources = (0..<8).flatMap { _ in busy.map { watch(dup($0)) { _ in } } }
    let (heard, seen) = (Latch(), Recorder<UInt>())
    let untouched = watch(temporary()) {
      seen.note($0.rawValue)
      heard.open()
    }
    let deadline = monotonicNanoseconds() + UInt64(Patience.seconds * 1e9)
    while !heard.isOpen, monotonicNanoseconds() < deadline {
      // The kernel would merge two equal events in a row.
      for file in busy { fchmod(file, 0o600) }
    }
    require(heard.isOpen, "an overflow within patience")
    report("untouched", Int(seen.values[0]))
    withExtendedLifetime((sources, untouched)) {}
  }

  /// The child makes a source, and cancels the parent's; the parent still hears.
  private static let filesFork: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let (file, heard) = (temporary(), Counter())
    let parents = watch(file) { _ in heard.add() }
    fchmod(file, 0o640)
    require(eventually { heard.value == 1 }, "the parent hears before the fork")
    let child = gc_fork()
    if child == 0 {
      let (own, told) = (temporary(), Latch())
      let source = watch(own) { _ in told.open() }
      parents.cancel()
      fchmod(own, 0o640)
      let isWell = told.wait()
      source.cancel()
      _exit(isWell ? 0 : 1)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
    let before = heard.value
    fchmod(file, 0o600)
    report("parent", eventually { heard.value > before })
    parents.cancel()
  }
}
