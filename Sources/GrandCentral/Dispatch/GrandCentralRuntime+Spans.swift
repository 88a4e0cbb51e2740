// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

extension GrandCentralRuntime {
  /// Something of the program's own that lasts, and that may end on another thread than it has begun on: a request, a job.
  ///
  /// In a trace each name has its tracks below "Spans". For what begins and ends in one function, ``interval(_:_:)`` is simpler.
  public struct Span: Sendable {
    /// What the span is called: the name that it has when it ends counts.
    public var name: String
    fileprivate let begun: UInt64
    fileprivate let parent: UInt32
    /// The span's number, by which the trace tells which span is a part of it; 0 if nobody records.
    public let number: UInt32

    /// Ends the span. It is recorded now, with its whole length: a span that never ends is in no trace.
    ///
    /// To be called once. Blocking: for a lock, briefly. Complexity: O(names known).
    public func end() {
      guard number != 0, Recorder.isOn else { return }
      Recorder.note(
        .span, from: begun, to: Cycles.now, queue: InsightNames.number(of: name), argument: number, word: UInt64(parent)
      )
    }
  }

  /// The number of the newest span.
  private static let newestSpan = Atomic<UInt32>(0)

  /// Begins a span.
  ///
  /// ```swift
  /// let span = GrandCentralRuntime.beginSpan("trim")
  /// queue.async {
  ///   cache.trim()
  ///   span.end()
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: At most 56 bytes of it are kept; a thousand different names are known, literals of ``mark(_:)`` included.
  ///   - parent: The span that this one is a part of.
  /// - Returns: The span, to be ended by ``Span/end()``.
  ///
  /// Nothing is recorded of a span that begins while nobody records. Blocking: never. Complexity: O(1).
  public static func beginSpan(_ name: String, parent: Span? = nil) -> Span {
    guard Recorder.isOn else { return Span(name: name, begun: 0, parent: 0, number: 0) }
    // relaxed: a number that no other span has; 0 stands for none, once in four thousand million.
    let number = newestSpan.wrappingAdd(1, ordering: .relaxed).newValue
    return Span(name: name, begun: Cycles.now, parent: parent?.number ?? 0, number: number)
  }
}
