// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// One read, one write, without a channel.
extension DispatchIO {
  /// Reads what is there, waiting until something is, and calls `handler` on `queue` once.
  ///
  /// ```swift
  /// DispatchIO.read(fromFileDescriptor: 0, maxLength: .max, runningHandlerOn: .main) { line, error in handle(line) }
  /// ```
  ///
  /// A file is read to its end. The descriptor is the caller's again when the handler is called.
  ///
  /// - Parameters:
  ///   - fileDescriptor: Must not be touched meanwhile; other reads of it follow in order.
  ///   - maxLength: How many bytes to read at most.
  ///   - queue: Where `handler` is called.
  ///   - handler: Called with what was read, which is empty at the end, and with 0 or an error number.
  ///
  /// Complexity: O(1), and O(bytes) later. Blocking: never.
  public class func read(
    fromFileDescriptor fileDescriptor: Int32, maxLength: Int, runningHandlerOn queue: DispatchQueue,
    handler: @escaping (_ data: DispatchData, _ error: Int32) -> Void
  ) {
    submit(.read, fileDescriptor, size(maxLength), nil, queue) { _, data, error in handler(data ?? .empty, error) }
  }

  /// Writes all of `data`, and calls `handler` on `queue` once.
  ///
  /// - Parameters:
  ///   - fileDescriptor: Must not be touched meanwhile; other writes to it follow in order.
  ///   - data: What to write.
  ///   - queue: Where `handler` is called.
  ///   - handler: Called with what could not be written, nil if everything was, and with 0 or an error number. SIGPIPE is
  ///     never raised.
  ///
  /// Complexity: O(1), and O(bytes) later. Blocking: never.
  public class func write(
    toFileDescriptor fileDescriptor: Int32, data: DispatchData, runningHandlerOn queue: DispatchQueue,
    handler: @escaping (_ data: DispatchData?, _ error: Int32) -> Void
  ) {
    submit(.write, fileDescriptor, data.count, data, queue) { _, data, error in
      handler(data.flatMap { $0.isEmpty ? nil : $0 }, error)
    }
  }

  private class func submit(
    _ direction: IOFile.Direction, _ descriptor: Int32, _ length: Int, _ data: DispatchData?, _ queue: DispatchQueue,
    _ handler: @escaping IOOperation.Handler
  ) {
    let entered = IOScheduler.shared.files.enter(descriptor)
    let limits = IOLimits(lowWater: .max, highWater: .max)
    var file: IOFile?
    if case .success(let found) = entered { file = found }
    let operation = IOOperation(
      direction, offset: nil, length: length, limits: limits, file: file, channel: nil, queue: queue,
      takesWhatIsThere: true, handler: handler)
    if let data { operation.begin(with: data) }
    if case .failure(let error) = entered {
      operation.outcome = error.code
      operation.kick()
    }
    file?.join(operation)
  }
}
