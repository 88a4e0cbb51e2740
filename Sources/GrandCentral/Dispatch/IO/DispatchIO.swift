// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Reads and writes a descriptor without blocking a thread, in pieces of a size that you choose.
///
/// ```swift
/// let channel = DispatchIO(type: .stream, fileDescriptor: socket, queue: queue) { _ in close(socket) }
/// channel.read(offset: 0, length: .max, queue: queue) { done, data, error in
///   if let data { parse(data) }
///   if done { channel.close() }
/// }
/// ```
///
/// The channel has the descriptor until its cleanup handler runs: do not touch it meanwhile. A *stream* channel reads and
/// writes at the descriptor's position, reads one after the other, writes beside them one after the other. A *random*
/// channel has several operations at work at once, each at its offset from the position at the channel's creation.
///
/// Handlers of one operation are called one after the other, whatever their queue; the one with `done` is the last.
///
/// For pipes, sockets, terminals and everything else that can block, the channel waits in the kernel's poll. Files are read
/// from the page cache directly. What is not there is read by at most eight helping threads, or, of a random channel, by
/// io_uring, where the kernel has it for us and `GRANDCENTRAL_IO=threads` is not set.
///
/// Differences from libdispatch: high water is 1 MiB unless set, and an operation that gets no further because its handler is
/// slow pauses, so that the memory in flight stays within twice that; a pipe that no process has opened for writing yet is
/// waited for, not taken as ended.
public class DispatchIO: DispatchObject, @unchecked Sendable {  // immutable; the channel guards itself
  /// How a channel goes through its descriptor.
  public enum StreamType: UInt, Sendable {
    /// From the descriptor's position on, in order.
    case stream = 0
    /// At offsets of your own.
    case random = 1
  }

  /// How a channel is closed.
  @frozen
  public struct CloseFlags: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt
    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Interrupts operations under way: their handlers are called with ECANCELED; those of a stream in the order of submission.
    /// What a disk is just reading for a stream is waited for, for 100 ms at most, and delivered before.
    @_alwaysEmitIntoClient public static var stop: DispatchIO.CloseFlags { CloseFlags(rawValue: 1) }
  }

  /// How an interval is meant.
  @frozen
  public struct IntervalFlags: OptionSet, Sendable, ExpressibleByNilLiteral {
    /// The set as bits.
    public let rawValue: UInt
    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }
    /// No flags.
    public init(nilLiteral: ()) { rawValue = 0 }

    /// Calls the handler at each interval, however little there is, even if there is nothing.
    @_alwaysEmitIntoClient public static var strictInterval: DispatchIO.IntervalFlags { IntervalFlags(rawValue: 1) }
  }

  let channel: IOChannel

  init(channel: IOChannel) {
    self.channel = channel
    super.init()
  }

  deinit {
    if channel.isSuspended {
      Fault.misuse(
        .releasedWhileSuspended,
        "the last reference to a DispatchIO went away while it was suspended; its handlers could never run. "
          + "Call resume first.")
    }
    if let lastContext { channel.finalize(lastContext) }
    channel.close(stop: false)
  }

  /// A channel for an open descriptor.
  ///
  /// - Parameters:
  ///   - type: `.random` needs a descriptor that can be positioned.
  ///   - fileDescriptor: The channel's until `cleanupHandler` is called.
  ///   - queue: Where `cleanupHandler` is called.
  ///   - cleanupHandler: Called once, with 0, when the channel is closed and all of its operations, and those of other
  ///     channels of the same descriptor, are done. If the channel cannot be made it is called at once, with the reason, which
  ///     is also every operation's error: EBADF, EISDIR for a folder, ESPIPE for a random channel of a pipe, socket or
  ///     terminal.
  ///
  /// Complexity: some system calls. Blocking: never.
  public convenience init(
    type: StreamType, fileDescriptor: Int32, queue: DispatchQueue,
    cleanupHandler: @escaping (_ error: Int32) -> Void
  ) {
    self.init(
      channel: .make(
        isRandom: type == .random, descriptor: fileDescriptor,
        cleanup: IOCleanup(queue: queue, handler: handedOver(cleanupHandler))))
  }

  /// A channel for a file that it opens itself, when the first operation needs it, and closes at its end.
  ///
  /// Nil if `path` is not absolute. The path is looked at at once, on another thread: if nothing is there that could be
  /// opened, or created, or if it is a folder, the channel cannot be made, and operations and `cleanupHandler` get the error
  /// number. If the file cannot be opened later, operations get the error number, and `cleanupHandler` 0.
  /// What is neither file nor folder is opened with O_NONBLOCK added: a pipe without a reader cannot be opened for writing
  /// (ENXIO); one without a writer can be opened for reading, and is read when there is one.
  ///
  /// - Parameters:
  ///   - type: `.random` needs a file that can be positioned.
  ///   - path: Absolute.
  ///   - oflag: As for `open`; O_CLOEXEC is added.
  ///   - mode: As for `open`.
  ///   - queue: Where `cleanupHandler` is called.
  ///   - cleanupHandler: Called once, after all operations.
  ///
  /// Complexity: O(1). Blocking: never.
  public convenience init?(
    type: StreamType, path: UnsafePointer<Int8>, oflag: Int32, mode: UInt32, queue: DispatchQueue,
    cleanupHandler: @escaping (_ error: Int32) -> Void
  ) {
    // 0x2F is a slash.
    guard path[0] == 0x2F else { return nil }
    self.init(
      channel: .make(
        isRandom: type == .random, file: IOFile(path: path, flags: oflag, mode: mode),
        cleanup: IOCleanup(queue: queue, handler: handedOver(cleanupHandler))))
  }

  /// A channel for the descriptor, or path, of another one.
  ///
  /// Both have it until both are closed; then both cleanup handlers are called. If `io` is closed already, operations get
  /// ECANCELED.
  ///
  /// Complexity: O(1). Blocking: never.
  public convenience init(
    type: StreamType, io: DispatchIO, queue: DispatchQueue, cleanupHandler: @escaping (_ error: Int32) -> Void
  ) {
    self.init(
      channel: io.channel.share(
        isRandom: type == .random, cleanup: IOCleanup(queue: queue, handler: handedOver(cleanupHandler))))
  }

  // MARK: Operations

  /// Reads, and calls `ioHandler` on `queue` with what comes, piece by piece.
  ///
  /// - Parameters:
  ///   - offset: Where to begin, in bytes, for a random channel; a stream goes on where it is.
  ///   - length: How many bytes to read at most; `Int.max` reads to the end, and so does `Int(bitPattern: SIZE_MAX)`.
  ///   - queue: Where `ioHandler` is called.
  ///   - ioHandler: Called with `done`, which is true for the last call; with the data that were read since the call before,
  ///     nil if there is nothing but an error; and with 0 or an error number, ECANCELED if the channel is closed. At the end
  ///     of the file `done` comes with empty data and no error.
  ///
  /// Complexity: O(1), and O(bytes) later. Blocking: never.
  public final func read(
    offset: Int, length: Int, queue: DispatchQueue,
    ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
  ) {
    channel.submit(
      .read, at: Int64(offset), length: Self.size(length), data: nil, queue: queue, handler: ioHandler)
  }

  /// Writes all of `data`, and calls `ioHandler` on `queue` with what is left, at last with nil.
  ///
  /// - Parameters:
  ///   - offset: Where to begin, in bytes, for a random channel; a stream goes on where it is.
  ///   - data: Kept until it is written.
  ///   - queue: Where `ioHandler` is called.
  ///   - ioHandler: Called with `done`, which is true for the last call; with the data that are not written yet, nil if
  ///     everything is; and with 0 or an error number: EPIPE, ENOSPC, EFBIG, ECANCELED. SIGPIPE is never raised.
  ///
  /// Complexity: O(1), and O(bytes) later. Blocking: never.
  public final func write(
    offset: Int, data: DispatchData, queue: DispatchQueue,
    ioHandler: @escaping (_ done: Bool, _ data: DispatchData?, _ error: Int32) -> Void
  ) {
    channel.submit(.write, at: Int64(offset), length: data.count, data: data, queue: queue, handler: ioHandler)
  }

  /// Runs `work` when everything submitted before has ended, handlers included, and before anything later starts: of this channel,
  /// and of all others on its descriptor. A read that waits for data holds the barrier up.
  ///
  /// It runs on the channel's target queue, and may use the descriptor: `fsync(channel.fileDescriptor)`, also when the channel
  /// has been closed meanwhile.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func barrier(execute work: @escaping () -> Void) { channel.barrier(handedOver(work)) }

  /// Closes the channel: it takes no more operations. Does nothing the second time, except to stop.
  ///
  /// What is under way is finished, unless `flags` says `.stop`; what waits behind a barrier ends when the barrier has run, either way.
  /// Then the cleanup handler is called.
  ///
  /// Complexity: O(1). To stop n operations: O(n). Blocking: never.
  public final func close(flags: CloseFlags = []) { channel.close(stop: flags.contains(.stop)) }

  /// Sizes are unsigned in C: what is negative here is SIZE_MAX, or little less.
  static func size(_ count: Int) -> Int { count < 0 ? .max : count }

  // MARK: Properties

  /// The descriptor; -1 once the channel is closed, and before a path is opened.
  ///
  /// A barrier that was submitted before `close(flags:)` has the descriptor nevertheless, unless the channel is stopped. If it
  /// asks before the path is opened, the path is opened then, on its thread.
  public final var fileDescriptor: Int32 { channel.descriptor }

  /// The most bytes that one call of a handler brings, 1 MiB at first; for operations submitted from now on.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setLimit(highWater: Int) {
    channel.setLimits {
      $0.highWater = max(1, Self.size(highWater))
      $0.lowWater = min($0.lowWater, $0.highWater)
    }
  }

  /// The smallest number of bytes that a handler is called for, except in the last call; for operations submitted from now on.
  ///
  /// At first a handler is called for whatever there is. `Int.max` gives all in one call. A descriptor that keeps messages
  /// apart, for example a datagram socket, calls the handler for less, if one message more might exceed high water: no
  /// message is cut.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setLimit(lowWater: Int) {
    channel.setLimits {
      $0.lowWater = Self.size(lowWater)
      $0.highWater = max($0.lowWater, $0.highWater)
    }
  }

  /// Calls handlers in this rhythm, if there is as much as low water asks for; with `.strictInterval` in any case. For
  /// operations submitted from now on.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setInterval(interval: DispatchTimeInterval, flags: IntervalFlags = []) {
    let nanoseconds = interval.clampedNanoseconds
    channel.setLimits {
      $0.interval = nanoseconds == .max ? 0 : UInt64(max(0, nanoseconds))
      $0.isStrict = flags.contains(.strictInterval)
    }
  }

  // MARK: DispatchObject

  /// Holds back handlers, barriers included, until `resume()`. Reading pauses once the high water mark is full.
  ///
  /// Complexity: O(1). Blocking: never.
  public override func suspend() { channel.suspend() }

  /// Takes back one `suspend()`. Traps (GC0001) if there was none.
  ///
  /// Complexity: O(1). Blocking: never.
  public override func resume() {
    if channel.resume() { return }
    Fault.misuse(
      .resumeWithoutSuspend,
      "resume on a DispatchIO that is not suspended. Call resume exactly once for each suspend.")
  }

  // Sets where barriers run; nil stands for the default global queue.
  override func retarget(to lane: Lane?) { channel.setTarget(lane?.queue) }
}
