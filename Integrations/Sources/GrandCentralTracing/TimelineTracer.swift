// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import Tracing

/// Puts the spans of swift-distributed-tracing into the timeline of `gcd trace`, beside the queues that they run on.
///
/// ```swift
/// InstrumentationSystem.bootstrap(TimelineTracer(forwardingTo: tracer))
/// ```
///
/// Each name has its tracks below "Spans"; a span says which one it is a part of. While nobody records, a span costs what the other
/// tracer costs, and an allocation.
public struct TimelineTracer: Tracer {
  /// The tracer that has the spans as well.
  private let other: (any Tracer)?

  /// A tracer for the timeline.
  ///
  /// - Parameter other: Gets all spans as well, and sees to what goes from process to process; nil: nobody.
  public init(forwardingTo other: (any Tracer)? = nil) { self.other = other }

  /// Begins a span now, in the timeline and in the other tracer. Its parent is the span of the context, if that is one of the timeline.
  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> TimelineSpan {
    let outer = context()
    let forwarded = other.map {
      start(operationName, $0, outer, kind, instant(), function, fileID, line)
    }
    let span = GrandCentralRuntime.beginSpan(operationName, parent: outer[TimelineSpan.Key.self])
    var inner = forwarded?.context ?? outer
    inner[TimelineSpan.Key.self] = span
    return TimelineSpan(span, context: inner, forwarded: forwarded)
  }

  private func start<Instant: TracerInstant>(
    _ name: String, _ tracer: some Tracer, _ context: ServiceContext, _ kind: SpanKind, _ instant: Instant,
    _ function: String, _ fileID: String, _ line: UInt
  ) -> any Tracing.Span {
    tracer.startSpan(
      name, context: context, ofKind: kind, at: instant, function: function, file: fileID, line: line)
  }

  /// Nil: the timeline keeps no list of open spans; the code that begins a span has it.
  public func activeSpan(identifiedBy context: ServiceContext) -> TimelineSpan? { nil }

  /// What is recorded is in the timeline already; the other tracer is told.
  @available(*, deprecated)
  public func forceFlush() { other?.forceFlush() }

  /// The other tracer's: the timeline is of one process, and puts nothing into what goes to another.
  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    other?.inject(context, into: &carrier, using: injector)
  }

  /// The other tracer's; see `inject`.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    other?.extract(carrier, into: &context, using: extractor)
  }
}
