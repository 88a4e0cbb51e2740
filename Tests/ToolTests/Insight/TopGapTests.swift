// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

/// Latencies of a process that loses records.
@Suite("gcd top: lost records")
struct TopGapTests {
  private func submitted(_ counter: inout TopRatesCounter, _ time: UInt64, job: Int = 7) {
    counter.add(.submit(queue: 1, job: job, time: time))
  }

  private func begun(_ counter: inout TopRatesCounter, _ time: UInt64, job: Int = 7) {
    counter.add(.item(queue: 1, job: job, begin: time, end: time + 1))
  }

  @Test("a begin and the next submission of a job that are both lost make no long latency")
  func reused() {
    var counter = TopRatesCounter()
    submitted(&counter, 100)
    begun(&counter, 103)
    // Job 7 begins at 112 and is submitted again at 900: neither was written down. Then it begins at 905.
    submitted(&counter, 110)
    counter.addGap(from: 111, to: 901)
    begun(&counter, 905)
    submitted(&counter, 1_000)
    begun(&counter, 1_004)
    let rates = counter.take(length: second, lost: 2, moment: 2_000)
    #expect(rates.queues[1]?.items == 3)
    #expect(rates.latency.count == 2 && rates.latency.quantile(1) ?? 9 <= 4)
  }

  @Test("a submission that is read one look later than its item counts, unless something was lost in between")
  func laterLook() {
    for isLost in [false, true] {
      var counter = TopRatesCounter()
      begun(&counter, 50)
      if isLost { counter.addGap(from: 45, to: 46) }
      _ = counter.take(length: second, lost: 0, moment: 60)
      submitted(&counter, 40)
      #expect(counter.take(length: second, lost: 0, moment: 70).latency.count == (isLost ? 0 : 1))
      // A loss of long ago does not count.
      submitted(&counter, 80)
      begun(&counter, 81)
      #expect(counter.take(length: second, lost: 0, moment: 90).latency.count == 1)
    }
  }

  @Test("a hundred thousand items that wait are counted at each look")
  func manyWaiting() {
    var counter = TopRatesCounter()
    for job in 1...100_000 { submitted(&counter, UInt64(job), job: job) }
    for _ in 0..<2 {
      let rates = counter.take(length: second, lost: 0, moment: 200_000)
      #expect(rates.queues[1]?.depth == 100_000 && rates.queues[1]?.oldest == 1 && !rates.isOverfull)
    }
  }

  @Test("where more items wait than are kept, how many is unknown until those have begun that were not kept")
  func overfull() throws {
    var counter = TopRatesCounter(mostWaiting: 4)
    func look(_ moment: UInt64) -> TopRates { counter.take(length: second, lost: 0, moment: moment) }
    for job in 1...5 { submitted(&counter, 10, job: job) }
    let full = look(20)
    #expect(full.isOverfull && full.depth == 0 && full.queues[1]?.oldest == 0 && full.queues[1]?.submitted == 5)
    for job in 1...4 { begun(&counter, 30, job: job) }
    submitted(&counter, 30, job: 6)
    let emptier = look(40)
    #expect(emptier.isOverfull && emptier.depth == 0 && emptier.latency.count == 0)
    let snapshot = sample([])
    let model = TopModel(snapshot: snapshot, report: WhyAnalysis.report(snapshot), rates: emptier)
    let head = model.head[1].text
    #expect(head.contains(" of a sample ") && head.hasSuffix("pending more than are counted"))
    #expect(try JSON.parse(TopJSON.value(model).text)["rates"]?["overfull"]?.bool == true)
    begun(&counter, 50, job: 5)
    let known = look(60)
    #expect(!known.isOverfull && known.depth == 1 && known.queues[1]?.oldest == 30)
  }

  @Test("a screen that is paused for long keeps few records, and counts as if it had looked all the time")
  func paused() {
    var counter = TopRatesCounter(mostUnmatched: 100)
    for job in 1...10_000 {
      // Each fifth item is read before its submission, and a begin lies between two collections.
      let time = UInt64(job) * 10
      if job % 5 == 0 { begun(&counter, time + 3, job: job) }
      if job % 5 == 0, job % 3 == 0 { counter.shrink() }
      submitted(&counter, time, job: job)
      counter.shrink()
      if job % 5 != 0, job < 10_000 - 10 { begun(&counter, time + 3, job: job) }
      #expect(counter.unmatched <= 102)
    }
    let rates = counter.take(length: second, lost: 0, moment: 200_000)
    // Of the last eleven items three have begun.
    #expect(rates.queues[1]?.items == 9_992 && rates.queues[1]?.submitted == 10_000)
    #expect(rates.latency.count == 9_992 && rates.latency.quantile(1) ?? 9 <= 3 && rates.depth == 8)
  }

  @Test("where recording stood still for a while, rates are at least so much, and what is pending is not known")
  func standstill() throws {
    var counter = TopRatesCounter()
    submitted(&counter, 10, job: 1)
    submitted(&counter, 20, job: 2)
    // The second one has begun and was submitted again.
    counter.addStandstill(from: 30, to: 90)
    begun(&counter, 95, job: 2)
    let rates = counter.take(length: second, lost: 0, moment: 100)
    #expect(rates.stoodStill && rates.mark == "≥" && rates.latency.count == 0 && rates.depth == 0)
    let snapshot = sample([])
    let model = TopModel(snapshot: snapshot, report: WhyAnalysis.report(snapshot), rates: rates)
    #expect(model.head[1].text.hasSuffix(" of a sample   items ≥1.00/s   not recorded all the time"))
    #expect(try JSON.parse(TopJSON.value(model).text)["rates"]?["stoodStill"]?.bool == true)
    let next = counter.take(length: second, lost: 0, moment: 200)
    #expect(!next.stoodStill && next.mark.isEmpty)
  }

  @Test("a process that has stopped recording is told to go on, and the look says so")
  func resumed() throws {
    let process = ToolProcess([], shell: "exec \"${0%/*}/traced\" steady")
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    #expect(process.read { output, _ in output == "begun\n" })
    let region = try #require(
      untilFound { try? RegionFinder.regions(of: process.identifier, writable: true).first })
    let collector = try #require(TopCollector(process.identifier))
    _ = collector.take(running: [])
    // As the process does it where the tool is late.
    region.switchOff(Collector.needed)
    #expect(collector.take(running: []).stoodStill && region.switches & Collector.needed == Collector.needed)
    collector.end()
    #expect(region.switches & Collector.needed == 0)
  }

  @Test("queues and jobs of two copies of the library are not the same, though they have the same numbers")
  func copies() {
    let clock = RegionClock(base: .init(counter: 0, uptime: 0), nanosecondsPerStep: 1)
    var counter = TopRatesCounter()
    for region in 0..<2 {
      var decoder = TopDecoder(region: region)
      // Job 7 is submitted in both, and begins in the first one.
      let submission = MadeUpRegion.record(Int(GC_RECORD_SUBMIT), at: 10, queue: 3, argument: 7)
      let item = MadeUpRegion.record(Int(GC_RECORD_ITEM), at: 20, queue: 3, argument: 7)
      for record in region == 0 ? [submission, item] : [submission] {
        if let event = decoder.event(record, thread: 1, clock: clock) { counter.add(event) }
      }
    }
    let rates = counter.take(length: second, lost: 0, moment: 30)
    #expect(rates.queues[3]?.items == 1 && rates.queues[3]?.depth ?? 0 == 0)
    #expect(rates.queues[1 << 32 | 3]?.items == 0 && rates.queues[1 << 32 | 3]?.depth == 1)
  }

  @Test("items that say that they took centuries add up to the largest number")
  func centuries() {
    var counter = TopRatesCounter()
    for _ in 0..<5 { counter.add(.item(queue: 1, job: 0, begin: 0, end: 1 << 62)) }
    #expect(counter.take(length: second, lost: 0, moment: 9).queues[1]?.busy == .max)
  }

  @Test("times in which something was lost, in any order and overlapping")
  func times() {
    var gaps = TopGaps()
    gaps.settle()
    #expect(!gaps.touch(0, .max))
    for (begin, end) in [(50, 60), (10, 20), (15, 30), (55, 56), (70, 70)] as [(UInt64, UInt64)] {
      gaps.add(from: begin, to: end)
    }
    gaps.add(from: 9, to: 8)
    gaps.settle()
    for moment in 0..<100 as Range<UInt64> {
      let isIn = (10...30).contains(moment) || (50...60).contains(moment) || moment == 70
      #expect(gaps.touch(moment, moment) == isIn)
    }
    #expect(gaps.touch(0, 10) && gaps.touch(31, 90) && gaps.touch(40, 50) && !gaps.touch(31, 49) && !gaps.touch(71, 90))
  }

  @Test("a thread loses records between its last one and its next chunk, or up to the look")
  func losses() throws {
    let now = RegionClock.now().counter - 1_000_000_000
    func items(_ times: UInt64...) -> [gc_insight_record] {
      times.map { MadeUpRegion.record(Int(GC_RECORD_ITEM), at: now + $0, queue: 1) }
    }
    var made = MadeUpRegion()
    made.thread(0, 10)
    made.thread(1, 11)
    let first = try made.reader()
    func nanoseconds(_ step: UInt64) -> UInt64 { first.clock.nanoseconds(at: now + step) }
    var losses = TopLosses(first, at: nanoseconds(0))
    made.chunk(0, 0, 10, items(100), isFull: true, begun: now + 90)
    made.chunk(1, 0, 10, items(500), lost: 3, begun: now + 400)
    made.chunk(2, 1, 11, items(450), begun: now + 10)
    made.thread(0, 10) { $0.lost = 3 }
    let region = try made.reader()
    var gaps: [(UInt64, UInt64)] = []
    for index in 0..<3 {
      var records: [gc_insight_record] = []
      let chunk = try #require(region.chunk(index, from: 0, records: &records))
      losses.see(chunk, upTo: records.last?.time, first.clock) { gaps.append(($0, $1)) }
    }
    losses.look(region) { gaps.append(($0, $1)) }
    // What the chunk has said already is no news at the look.
    #expect(gaps.count == 1 && gaps[0] == (nanoseconds(100), nanoseconds(400)))
    // The other thread loses something, and has no chunk since; and one without an entry.
    made.thread(1, 11) { $0.lost = 1 }
    losses.look(try made.reader()) { gaps.append(($0, $1)) }
    #expect(gaps.count == 2 && gaps[1].0 == nanoseconds(450) && gaps[1].1 > gaps[1].0)
    made.head.lost = 5
    losses.look(try made.reader()) { gaps.append(($0, $1)) }
    losses.look(try made.reader()) { gaps.append(($0, $1)) }
    #expect(gaps.count == 3 && gaps[2].0 >= gaps[1].1)
  }
}
