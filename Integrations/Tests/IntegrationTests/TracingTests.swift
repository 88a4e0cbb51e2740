// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTracing
import InMemoryTracing
import Testing
import Tracing

private enum Failure: Error { case expected }

@Suite("GrandCentralTracing gives the other tracer what it gives the timeline")
struct TracingTests {
  @Test("spans, their parents, names, events, errors and attributes are the other tracer's as well")
  func forwarding() throws {
    let memory = InMemoryTracer()
    let tracer = TimelineTracer(forwardingTo: memory)
    tracer.withSpan("outer") { outer in
      outer.operationName = "renamed"
      outer.attributes["user"] = "7"
      #expect(outer.isRecording)
      tracer.withSpan("inner") { $0.addEvent("row") }
      try? tracer.withSpan("failing") { _ in throw Failure.expected }
    }
    let spans = memory.finishedSpans
    #expect(spans.map(\.operationName) == ["inner", "failing", "renamed"])
    let outer = try #require(spans.last)
    #expect(outer.attributes["user"]?.toSpanAttribute() == "7")
    #expect(spans[0].parentSpanID == outer.spanID)
    #expect(spans[0].events.map(\.name) == ["row"])
    #expect(spans[1].errors.count == 1)
  }

  @Test("a span ends once")
  func once() {
    let memory = InMemoryTracer()
    let span = TimelineTracer(forwardingTo: memory).startSpan("once")
    span.end()
    span.end()
    #expect(memory.finishedSpans.count == 1)
  }

  @Test("without another tracer a span keeps its attributes, and records nothing while nobody asks for it")
  func alone() {
    let span = TimelineTracer().startSpan("alone")
    span.attributes["user"] = "7"
    #expect(span.attributes["user"]?.toSpanAttribute() == "7")
    #expect(span.isRecording == GrandCentralRuntime.isRecording)
    span.end()
  }
}
