// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import Synchronization
import Tracing

/// A span of ``TimelineTracer``: from its beginning to its end in the timeline, and in the other tracer as whatever that makes of it.
public final class TimelineSpan: Tracing.Span {
  enum Key: ServiceContextKey {
    typealias Value = GrandCentralRuntime.Span
    static let nameOverride: String? = "grand-central-span"
  }

  private struct State {
    var span: GrandCentralRuntime.Span
    var attributes: SpanAttributes = [:]
    var hasEnded = false
  }

  /// What the span's children begin with: the other tracer's context, with this span in it.
  public let context: ServiceContext
  private let forwarded: (any Tracing.Span)?
  private let state: Mutex<State>

  init(_ span: GrandCentralRuntime.Span, context: ServiceContext, forwarded: (any Tracing.Span)?) {
    self.context = context
    self.forwarded = forwarded
    state = Mutex(State(span: span))
  }

  /// The name that the span has when it ends is the one in the timeline.
  public var operationName: String {
    get { state.withLock { $0.span.name } }
    set {
      state.withLock { $0.span.name = newValue }
      forwarded?.operationName = newValue
    }
  }

  /// The other tracer's; the timeline has none.
  public var attributes: SpanAttributes {
    get { forwarded?.attributes ?? state.withLock { $0.attributes } }
    set {
      if let forwarded { forwarded.attributes = newValue } else { state.withLock { $0.attributes = newValue } }
    }
  }

  /// Whether anybody has use for what is said of the span: the other tracer, or else the timeline.
  public var isRecording: Bool { forwarded?.isRecording ?? state.withLock { $0.span.number != 0 && !$0.hasEnded } }

  /// The other tracer's; the timeline has none.
  public func setStatus(_ status: SpanStatus) { forwarded?.setStatus(status) }

  /// The other tracer's; the timeline has none.
  public func addLink(_ link: SpanLink) { forwarded?.addLink(link) }

  /// In the timeline an event is a span without length, a part of this one.
  public func addEvent(_ event: SpanEvent) {
    note(event.name)
    forwarded?.addEvent(event)
  }

  /// As an event whose name is the error's type.
  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    note("\(type(of: error))")
    forwarded?.recordError(error, attributes: attributes, at: instant())
  }

  private func note(_ name: String) {
    let parent = state.withLock { $0.span }
    GrandCentralRuntime.beginSpan(name, parent: parent).end()
  }

  /// Ends the span, the first time.
  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    let span: GrandCentralRuntime.Span? = state.withLock { state in
      if state.hasEnded { return nil }
      state.hasEnded = true
      return state.span
    }
    guard let span else { return }
    span.end()
    forwarded?.end(at: instant())
  }
}
