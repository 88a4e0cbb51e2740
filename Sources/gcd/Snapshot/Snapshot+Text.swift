// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A snapshot as tables for people.
struct SnapshotText {
  let style: Style
  let words: WhyWords

  init(_ snapshot: Snapshot, style: Style, symbol: @escaping (UInt64) -> String?) {
    self.style = style
    words = WhyWords(snapshot: snapshot, symbol: symbol)
  }

  private var snapshot: Snapshot { words.snapshot }

  var text: String {
    let name = snapshot.program.name.isEmpty ? "" : " (\(TextLayout.printable(snapshot.program.name)))"
    var lines = [
      "process   \(snapshot.pid)\(name)\(snapshot.program.isStopped ? ", stopped" : "")",
      "library   GrandCentral \(TextLayout.printable(snapshot.library))",
      "pool      \(poolWords)",
      "records   \(snapshot.isRecording ? "on" : "off"); objects \(objectWords)",
    ]
    if snapshot.torn > 0 { lines.append("torn      \(snapshot.tornWords)") }
    if snapshot.leftOut > 0 { lines.append("left out  \(snapshot.leftOutWords)") }
    lines.append("")
    lines += Self.table(
      ["TID", "NAME", "ROLE", "STATE", "FOR", "WHAT"], snapshot.threads.map(row), rightAligned: [0, 4], style)
    let objects = snapshot.objects.filter { $0.endedAge == nil }
    let queues = objects.filter(\.kind.isQueue)
    if !queues.isEmpty {
      lines.append("")
      lines += Self.table(
        ["NO", "KIND", "LABEL", "TARGET", "QOS", "WIDTH", "STATE"], queues.map(row), rightAligned: [0, 5], style)
    }
    let others = objects.filter { !$0.kind.isQueue }
    if !others.isEmpty {
      lines.append("")
      lines += Self.table(["NO", "KIND", "WATCHES", "QUEUE", "STATE"], others.map(otherRow), rightAligned: [0], style)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private var poolWords: String {
    let workers = snapshot.workers
    func count(_ state: Snapshot.State) -> Int { workers.count { $0.state == state } }
    let processors = snapshot.parallelism == 0 ? "" : ", \(snapshot.parallelism) processors"
    return
      "\(workers.count) workers: \(count(.active)) active, \(count(.waiting)) waiting, \(count(.asleep)) asleep\(processors)"
  }

  private var objectWords: String {
    let living = snapshot.objects.count { $0.endedAge == nil }
    return "\(living)" + (snapshot.listsObjects ? "" : " (only those that were met while recording was on)")
  }

  private func row(_ thread: Snapshot.Thread) -> [String] {
    let inside = words.inside(thread).drop { $0 == "," || $0 == " " }
    let parts = [thread.state == .asleep ? "" : words.waiting(thread, withAge: false), String(inside)]
    return [
      String(thread.tid), TextLayout.printable(thread.name), thread.role.rawValue, thread.state.rawValue,
      thread.age == 0 ? "-" : WhyWords.duration(thread.age), parts.filter { !$0.isEmpty }.joined(separator: ", "),
    ]
  }

  private func otherRow(_ object: Snapshot.Object) -> [String] {
    [
      String(object.shownNumber), object.kindWords, object.watches,
      snapshot.object(object.target).map { TextLayout.printable($0.label) } ?? "", object.stateWords,
    ]
  }

  private func row(_ object: Snapshot.Object) -> [String] {
    [
      String(object.shownNumber), object.kind.rawValue, TextLayout.printable(object.label),
      snapshot.object(object.target).map { TextLayout.printable($0.label) } ?? "", Snapshot.className(object.qos),
      object.width.map(String.init) ?? "any", object.stateWords,
    ]
  }

  static func table(_ head: [String], _ rows: [[String]], rightAligned: Set<Int>, _ style: Style) -> [String] {
    let widths = head.indices.map { column in ([head] + rows).map { TextLayout.width($0[column]) }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      let text = cells.enumerated().map { column, cell in
        rightAligned.contains(column) ? TextLayout.right(cell, widths[column]) : TextLayout.left(cell, widths[column])
      }.joined(separator: "  ")
      return String(text.reversed().drop { $0 == " " }.reversed())
    }
    return [style.bold(line(head))] + rows.map(line)
  }
}
