// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// Reads from one channel and hands the pieces on, but never has more than `most` bytes on their way.
///
/// While too much is on its way the channel is suspended, and then stops reading by itself.
final class Stream: @unchecked Sendable {  // why: touched on `queue` only
  /// What becomes of a piece: whoever takes it calls back when it is dealt with, with an error number or 0.
  typealias Sink =
    @Sendable (_ piece: DispatchData, _ offset: Int, _ dealtWith: @escaping @Sendable (Int32) -> Void)
    -> Void

  enum Failure: Error, Equatable {
    case reading(Int32)
    case writing(Int32)
  }

  private static let most = 8 << 20

  private let channel: DispatchIO
  private let queue: DispatchQueue
  private let sink: Sink
  private let end: @Sendable (Result<Int, Failure>) -> Void
  private var position: Int
  private let start: Int
  private var onTheWay = 0
  private var isPaused = false
  private var isRead = false
  private var failure: Failure?

  /// Calls `end` on `queue` with the number of bytes, once all of them have been dealt with.
  static func run(
    _ channel: DispatchIO, from offset: Int = 0, length: Int = .max, on queue: DispatchQueue, to sink: @escaping Sink,
    _ end: @escaping @Sendable (Result<Int, Failure>) -> Void
  ) {
    let stream = Stream(channel, offset, queue, sink, end)
    channel.read(offset: offset, length: length, queue: queue) { done, data, error in
      stream.take(data, isLast: done, error)
    }
  }

  private init(
    _ channel: DispatchIO, _ offset: Int, _ queue: DispatchQueue, _ sink: @escaping Sink,
    _ end: @escaping @Sendable (Result<Int, Failure>) -> Void
  ) {
    self.channel = channel
    self.queue = queue
    self.sink = sink
    self.end = end
    start = offset
    position = offset
  }

  private func take(_ data: DispatchData?, isLast: Bool, _ error: Int32) {
    if let data, !data.isEmpty, failure == nil {
      let count = data.count
      onTheWay += count
      let offset = position
      position += count
      sink(data, offset) { error in self.queue.async { self.dealtWith(count, error) } }
    }
    if error != 0, failure == nil { failure = .reading(error) }
    isRead = isRead || isLast
    if onTheWay > Self.most, !isRead, !isPaused {
      isPaused = true
      channel.suspend()
    }
    endIfDone()
  }

  private func dealtWith(_ count: Int, _ error: Int32) {
    onTheWay -= count
    if error != 0, failure == nil {
      failure = .writing(error)
      channel.close(flags: .stop)
    }
    if isPaused, onTheWay <= Self.most / 2 {
      isPaused = false
      channel.resume()
    }
    endIfDone()
  }

  private func endIfDone() {
    if isRead, onTheWay == 0 { end(failure.map { .failure($0) } ?? .success(position - start)) }
  }
}
