// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Synchronization
import Testing

@testable import gcd

@Suite("gcd top")
struct TopTests {
  // MARK: Keys

  @Test("bytes become keys, in whatever parts they come")
  func keys() {
    let bytes: [UInt8] = Array("q\u{1B}[A\u{1B}[5~\u{1B}OH\r\t\u{7F} é".utf8) + [3]
    let expected: [TopKey] = [
      .character("q"), .up, .pageUp, .home, .enter, .tab, .backspace, .character(" "), .character("é"), .control("c"),
    ]
    var whole = TopKeys()
    #expect(whole.keys(bytes) == expected)
    var single = TopKeys()
    #expect(bytes.flatMap { single.keys([$0]) } == expected)
    // A lone escape is known by the silence after it.
    #expect(single.keys([0x1b]).isEmpty && single.isUndecided)
    #expect(single.settle() == [.escape] && !single.isUndecided)
    #expect(single.keys([0x1b, UInt8(ascii: "x")]) == [.escape, .character("x")])
  }

  @Test("buttons of the mouse become keys, and what is let go none")
  func mouseKeys() {
    var keys = TopKeys()
    #expect(
      keys.keys(Array("\u{1B}[<0;12;3M\u{1B}[<0;12;3m\u{1B}[<64;1;1M\u{1B}[<65;1;1M".utf8)) == [
        .click(column: 11, row: 2), .wheelUp, .wheelDown,
      ])
    #expect(keys.keys(Array("\u{1B}[<2;1;1M\u{1B}[<0;0;1M\u{1B}[<0;1M\u{1B}[<;;Mq".utf8)) == [.character("q")])
  }

  @Test("no bytes are too many or too strange")
  func strangeKeys() {
    var generator = SeededGenerator(seed: 1)
    var keys = TopKeys()
    for _ in 0..<20_000 {
      _ = keys.keys([UInt8(truncatingIfNeeded: generator.next() % 5 == 0 ? 0x1b : generator.next())])
    }
    _ = keys.settle()
    #expect(keys.keys([UInt8(ascii: "q")]) == [.character("q")])
  }

  // MARK: The screen

  private static var model: TopModel {
    var objects = [
      queue(1, "com.example.database", 0xa), queue(2, "images", 0xb, suspensions: 1), queue(3, "数据库", 0xc),
    ]
    let timer = Snapshot.ObjectState(remaining: 1_500_000_000, interval: second)
    objects.append(Snapshot.Object(number: 4, kind: .timer, label: "timer source", target: 1, state: timer))
    let reader = Snapshot.ObjectState(handle: 9, isCancelled: true)
    objects.append(Snapshot.Object(number: 5, kind: .source, label: "read source", target: 1, state: reader))
    let snapshot = sample(
      [
        waiting(100, .queue, 0xa, "com.example.database", owner: 2, role: .main),
        waiting(2, .semaphore, 0x5, inside: ("com.example.database", 0xa)), active(3),
      ], objects)
    var rates = TopRates()
    rates.length = second
    rates.queues[1] = .init(items: 1234, busy: second / 4, submitted: 1300, depth: 66, oldest: 1)
    rates.queues[3] = .init(items: 9)
    for length in 1...100 { rates.queues[1]?.latency.add(UInt64(length) * 1000) }
    return TopModel(
      snapshot: snapshot, report: WhyAnalysis.report(snapshot), rates: rates, uptime: second, clock: "12:34:56")
  }

  @Test("each page fills the screen exactly, whatever its size", arguments: TopPage.allCases)
  func fills(_ page: TopPage) {
    for (columns, rows) in [(80, 24), (200, 60), (40, 8), (41, 9), (10, 3), (1, 1), (500, 200)] {
      for isHelp in [false, true] {
        var state = TopState(page: page)
        state.showsHelp = isHelp
        let lines = TopView(columns: columns, rows: rows).lines(Self.model, &state)
        #expect(lines.count == rows)
        #expect(lines.allSatisfy { $0.width == columns }, "\(page) \(columns) x \(rows)")
      }
    }
  }

  private func text(_ state: TopState, _ columns: Int = 80, _ rows: Int = 24) -> String {
    var state = state
    return TopView(columns: columns, rows: rows).lines(Self.model, &state).map(\.text).joined(separator: "\n")
  }

  @Test("80 columns show the latency first, findings, and the queues; 200 show more of them")
  func overview() {
    let narrow = text(TopState())
    #expect(narrow.contains("latency p50 51.2 µs  p99 102 µs"))
    #expect(narrow.contains("! Worker \"gc-2\" (2), inside an item of queue"))
    #expect(narrow.contains("com.example.database") && narrow.contains("1,234") && narrow.contains("25%"))
    #expect(narrow.contains("suspended 1"))
    #expect(!narrow.contains("TARGET") && text(TopState(), 200, 60).contains("TARGET"))
    let sources = text(TopState(page: .sources))
    #expect(sources.contains("in 1.50 s, every 1.00 s"))
    #expect(sources.contains("descriptor 9") && sources.contains("cancelled"))
    // The wait that others hang on stands above them.
    let waits = text(TopState(page: .waits), 200, 60)
    #expect(waits.contains("└ the main thread (100) waits in sync for queue \"com.example.database\""))
  }

  @Test("where records were lost, rates are at least so much, and latencies those of a sample")
  func losses() {
    var model = Self.model
    #expect(model.head[1].text == "latency p50 51.2 µs  p99 102 µs   items 1,243/s   pending 66")
    model.rates?.lost = 1_500_000
    model.rates?.queues[5] = .init(calls: 500)
    #expect(
      model.head[1].text == "latency p50 51.2 µs  p99 102 µs of a sample   items ≥1,243/s   1,500,000 records lost")
    for (page, numbers) in [(TopPage.queues, ["≥1,234", "≥25%"]), (.sources, ["≥500"])] {
      let cells = TopPages(model).table(page).rows.flatMap { $0.cells.map(\.text) }
      #expect(numbers.allSatisfy(cells.contains), "\(cells)")
    }
  }

  @Test("colours only where they are wanted")
  func colours() {
    var state = TopState()
    let lines = TopView(columns: 80, rows: 24).lines(Self.model, &state)
    let plain = lines.map { $0.escaped(usesColour: false) }.joined()
    #expect(!plain.contains("\u{1B}[3") && !plain.contains(";3"))
    #expect(lines.map { $0.escaped(usesColour: true) }.joined().contains("\u{1B}[1;31m"))
  }

  @Test("keys choose the page, the order, the row, a filter")
  func state() {
    var state = TopState()
    let ids = ["a", "b", "c"]
    func press(_ keys: TopKey...) -> TopState.Action {
      keys.map { state.press($0, ids: ids, pageRows: 2) }.last ?? .none
    }
    _ = press(.down)
    #expect(state.selected == "a")
    _ = press(.down, .down, .down)
    #expect(state.selected == "c")
    _ = press(.pageUp)
    #expect(state.selected == "a")
    _ = press(.enter)
    #expect(state.showsDetail)
    #expect(press(.escape) == .none && !state.showsDetail)
    _ = press(.character("3"))
    #expect(state.page == .threads && state.selected == nil)
    _ = press(.tab, .tab, .tab)
    #expect(state.page == .overview)
    _ = press(.character("/"), .character("q"), .character("x"), .backspace, .enter)
    #expect(state.filter == "q" && !state.isTyping)
    #expect(press(.escape) == .none && state.filter.isEmpty)
    #expect(press(.escape) == .back)
    let sort = state.sort[.overview]
    _ = press(.character("s"))
    #expect(state.sort[.overview] == sort.map { $0 + 1 })
    _ = press(.character(" "))
    #expect(state.isPaused)
    #expect(press(.character("y")) == .copyJSON)
    #expect(press(.character("t")) == .writeTrace)
    #expect(press(.character("?")) == .none && state.showsHelp)
    #expect(press(.character("q")) == .quit)
    #expect(press(.control("c")) == .quit)
  }

  @Test("a click chooses a tab, the order, a row; the second one shows it alone")
  func mouse() throws {
    var state = TopState()
    let view = TopView(columns: 80, rows: 24)
    var lines = view.lines(Self.model, &state).map(\.text)
    func click(_ text: String) throws {
      let row = try #require(lines.firstIndex { $0.contains(text) })
      let column = try #require(Array(lines[row]).indices.first { String(Array(lines[row])[$0...]).hasPrefix(text) })
      let ids = TopView.table(Self.model, state).rows.map(\.id)
      #expect(state.press(.click(column: column, row: row), ids: ids, pageRows: 10) == .none)
      lines = view.lines(Self.model, &state).map(\.text)
    }
    try click("Queues")
    #expect(state.page == .queues)
    try click("ITEMS/S")
    #expect(state.sort[.queues] == 3)
    try click("images")
    #expect(state.selected == "queue 2" && !state.showsDetail)
    try click("images")
    #expect(state.showsDetail)
    try click("images")
    #expect(!state.showsDetail)
    let ids = TopView.table(Self.model, state).rows.map(\.id)
    for _ in 0..<3 { _ = state.press(.wheelUp, ids: ids, pageRows: 10) }
    #expect(state.selected == ids.first)
    _ = state.press(.wheelDown, ids: ids, pageRows: 10)
    #expect(state.selected == ids.last)
    for row in -1...30 { _ = state.press(.click(column: 500, row: row), ids: [], pageRows: 10) }
  }

  @Test("rows are sorted by numbers from the largest, by texts from the first, and filtered")
  func table() {
    var state = TopState(page: .queues)
    state.sort = [:]
    #expect(TopView.table(Self.model, state).rows.map(\.id) == ["queue 1", "queue 2", "queue 3"])
    state.sort = [.queues: 3]
    #expect(TopView.table(Self.model, state).rows.map(\.id) == ["queue 1", "queue 3", "queue 2"])
    state.filter = "IMAG"
    #expect(TopView.table(Self.model, state).rows.map(\.id) == ["queue 2"])
  }

  @Test("threads that wait are counted for their queue: two queues may have one label, and long labels are cut")
  func waiters() {
    let long = String(repeating: "x", count: 75)
    let cut = String(long.prefix(63))
    let snapshot = sample(
      [
        waiting(1, .queue, 0xa, "same", inside: (cut, 0xc)), waiting(2, .itemElsewhere, 0xa, "same"),
        waiting(3, .queue, 0xc, cut), waiting(4, .queue, 0xd, "same"), waiting(5, .semaphore, 0xa),
      ], [queue(1, "same", 0xa), queue(2, "same", 0xb), queue(3, long, 0xc)])
    let model = TopModel(
      snapshot: snapshot, report: WhyAnalysis.report(snapshot), rates: nil, uptime: second, clock: "12:34:56")
    let rows = TopPages(model).table(.queues).rows
    let waits = TopPages.queueColumns.firstIndex { $0.title == "WAIT" } ?? 0
    let counts = rows.map { "\($0.id): \($0.cell(waits).text)" }
    // The last one has no entry, and its label is another queue's as well.
    #expect(counts == ["queue 1: 2", "queue 2: ", "queue 3: 1", "label same: 1"])
  }

  @Test("a timer that fires and calls its handler is one event; lateness is the timer's")
  func events() {
    var counter = TopRatesCounter()
    for late: UInt64 in [5, 9, 7] {
      counter.add(.timer(queue: 1, late: late))
      counter.add(.source(queue: 1))
    }
    counter.add(.timer(queue: 2, late: 1))
    counter.add(.source(queue: 3))
    let rates = counter.take(length: second, lost: 0, moment: 9)
    #expect(rates.queues[1]?.events == 3 && rates.queues[1]?.late == 9)
    #expect(rates.queues[2]?.events == 1 && rates.queues[3]?.events == 1)
  }

  @Test("of ten thousand rows the cells that are shown are made, and one for each row to sort by")
  func unseenRows() {
    final class Made: Sendable { let count = Atomic<Int>(0) }
    let made = Made()
    let column = TopColumn(title: "N", width: 8, help: "a number")
    let rows = (0..<10_000).map { row in
      TopRow(id: "row \(row)", count: 4) { column in
        // relaxed: one thread.
        made.count.wrappingAdd(1, ordering: .relaxed)
        return TopCell("\(row).\(column)", order: Double(row))
      }
    }
    let sorted = TopTable(columns: Array(repeating: column, count: 4), rows: rows).sorted(by: 2)
    let lines = sorted.rows.prefix(50).map { sorted.line($0, 80).text }
    #expect(lines.first?.contains("9999.0") == true && lines.last?.contains("9950.3") == true)
    #expect(made.count.load(ordering: .relaxed) == 10_000 + 50 * 4)
  }

  @Test("JSON for scripts")
  func json() throws {
    let json = try JSON.parse(TopJSON.value(Self.model).text)
    let first = try #require(json["rates"]?["queues"]?.array?.first)
    #expect(first["label"]?.string == "com.example.database" && first["itemsPerSecond"]?.number == 1234)
    #expect(json["why"]?["findings"]?.array?.isEmpty == false && json["snapshot"]?["pid"]?.number == 100)
  }

  @Test("a command that ends before there is something to look at: how it has ended, and its code")
  func shortCommand() {
    func run(_ line: String) -> ToolProcess.Result {
      ToolProcess.run(["top", "--once", "--interval", "0.1", "--", "sh", "-c", line])
    }
    let ended = run("exit 7")
    #expect(ended.code == 7 && ended.error == "gcd: the command has exited with status 7\n" && ended.output.isEmpty)
    let killed = run("kill -KILL $$")
    #expect(killed.code == 137 && killed.error == "gcd: the command was killed by SIGKILL\n")
  }

  @Test("Ctrl-C, and an output without a reader, end the command as well", arguments: [true, false])
  func endsCommand(isInterrupted: Bool) {
    let folder = TemporaryFolder()
    folder.fifo("output")
    folder.fifo("gone")
    let output = open(folder.path + "/output", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(output) }
    let withoutReader = "exec 3<>gone 4>gone 3<&-; exec \"$0\" \"$@\" >&4"
    let tool = ToolProcess(
      ["top", isInterrupted ? "--once" : "--web", "--output", "output", "--", "sh", "-c", "echo $$; exec sleep 1000"],
      shell: isInterrupted ? nil : withoutReader, folder: folder.path)
    // The command may be ended before it says anything where nothing reads what the tool says.
    var said = next(output)
    let process = said.flatMap { pid_t($0.dropLast()) }
    if isInterrupted {
      #expect(process != nil)
      kill(tool.identifier, SIGINT)
    }
    #expect(tool.wait().code == (isInterrupted ? 128 + SIGINT : Terminal.cannotWrite))
    while said?.isEmpty == false { said = next(output) }
    #expect(said?.isEmpty == true, "the command runs on")
    if said == nil, let process { kill(process, SIGKILL) }
  }

  /// What comes next through a pipe; empty once nothing has its other end any more, nil if nothing happens for a minute.
  private func next(_ pipe: Int32) -> String? {
    var polled = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
    guard poll(&polled, 1, 60_000) > 0 else { return nil }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(pipe, &buffer, buffer.count)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }

  // MARK: Rates

  @Test("quantiles are exact to an eighth")
  func histogram() throws {
    var histogram = TopHistogram()
    #expect(histogram.quantile(0.5) == nil)
    for value in 1...10_000 { histogram.add(UInt64(value) * 100) }
    for (part, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (0.001, 1000.0)] {
      let value = Double(try #require(histogram.quantile(part)))
      #expect(abs(value / exact - 1) < 0.125, "\(part): \(value)")
    }
    histogram.add(.max)
    #expect(histogram.quantile(1) ?? 0 > 1 << 62)
    var twice = histogram
    twice.add(histogram)
    #expect(twice.count == 20_002 && twice.quantile(0.5) == histogram.quantile(0.5))
  }

  @Test("an item is brought together with its submission, though jobs are used again and records come out of order")
  func latency() {
    var counter = TopRatesCounter()
    counter.add(.item(queue: 1, job: 7, begin: 300, end: 350))
    counter.add(.item(queue: 1, job: 7, begin: 1_100, end: 1_200))
    counter.add(.submit(queue: 1, job: 7, time: 400))
    counter.add(.submit(queue: 1, job: 7, time: 292))
    counter.add(.submit(queue: 2, job: 8, time: 500))
    let rates = counter.take(length: second, lost: 0, moment: 9)
    #expect(rates.queues[1]?.items == 2 && rates.queues[1]?.busy == 150 && rates.queues[1]?.submitted == 2)
    #expect(rates.queues[1]?.latency.count == 2 && rates.queues[1]?.latency.quantile(0.5) ?? 99 < 10)
    #expect(rates.queues[1]?.depth == 0)
    #expect(rates.queues[2]?.depth == 1 && rates.queues[2]?.oldest == 500)
    counter.add(.item(queue: 2, job: 8, begin: 1_500, end: 1_501))
    let next = counter.take(length: second, lost: 0, moment: 9)
    #expect(next.queues[2]?.latency.count == 1 && next.queues[2]?.depth == 0 && next.queues[1] == nil)
  }

  @Test("a serial queue is never busier than its time: an item that runs over several looks counts once")
  func busy() {
    var counter = TopRatesCounter()
    func look(_ moment: UInt64, running: UInt64? = nil) -> UInt64 {
      let running = running.map { [TopRatesCounter.Running(queue: 1, begun: $0)] } ?? []
      return counter.take(length: 1_000, lost: 0, moment: moment, running: running).queues[1]?.busy ?? 0
    }
    #expect(look(10_000) == 0)
    counter.add(.item(queue: 1, job: 0, begin: 10_000, end: 10_400))
    #expect(look(11_000, running: 10_500) == 900)
    // What the thread says of its item is a little later than what the record says.
    #expect(look(12_000, running: 10_510) == 1_000)
    counter.add(.item(queue: 1, job: 0, begin: 10_500, end: 12_600))
    counter.add(.item(queue: 1, job: 0, begin: 12_700, end: 13_010))
    // The second item had run when the thread was looked at, and had ended when the records were read.
    #expect(look(13_000, running: 12_700) == 920)
    #expect(look(14_000) == 0)
  }

  @Test("records are decoded; synchronous items nest within their thread")
  func decoder() {
    let clock = RegionClock(base: .init(counter: 0, uptime: 0), nanosecondsPerStep: 2)
    var decoder = TopDecoder()
    func record(_ kind: Int, _ time: UInt64, length: UInt32 = 0, queue: UInt32 = 1) -> TopRatesCounter.Event? {
      let record = gc_insight_record(
        time: time, length: length, kind: UInt8(kind), qos: 0, detail: 0, queue: queue, argument: 9, word: 5)
      return decoder.event(record, thread: 3, clock: clock)
    }
    #expect(record(1, 1000, length: 100) == .item(queue: 1, job: 9, begin: 1800, end: 2000))
    #expect(record(1 | 0x80, 200_000, length: 10) == .item(queue: 1, job: 9, begin: 379_520, end: 400_000))
    #expect(record(1, 10, length: 100) == .item(queue: 1, job: 9, begin: 0, end: 20))
    #expect(record(2, 50) == .submit(queue: 1, job: 9, time: 100))
    #expect(record(3, 10, queue: 1) == nil && record(3, 20, queue: 2) == nil)
    #expect(record(4, 30, queue: 2) == .item(queue: 2, job: 0, begin: 40, end: 60))
    #expect(record(4, 50) == .item(queue: 1, job: 0, begin: 20, end: 100))
    #expect(record(4, 60) == nil)
    #expect(record(14, 60) == .timer(queue: 1, late: 5) && record(15, 60) == .source(queue: 1) && record(99, 1) == nil)
  }

  @Test("text for the clipboard")
  func base64() {
    #expect(["", "f", "fo", "foo", "foob"].map(Base64.text) == ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="])
  }
}
