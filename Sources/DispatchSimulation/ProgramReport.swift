// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CSimulation
import Glibc

/// What became of the run of a process: for a tool, a line each, with a name and a colon; for people, as the kit says it.
struct ProgramReport {
  enum End {
    case exit(Int32)
    case signal(Int32)
    case failure(SimulationFailure.Reason)
  }

  let end: End
  let run: Run
  let branches: [BranchSchedule.Branch]
  /// Of a program that has ended: what it has begun and not ended.
  let left: [String]

  var isFailure: Bool { if case .exit(0) = end { false } else { true } }

  private var sentence: String {
    switch end {
    case .exit(let code): "the program has ended with the code \(code)"
    case .signal(let number): "the program is brought down by the signal \(number)"
    case .failure(let reason): SimulationFailure(reason).sentence
    }
  }

  private var kind: String {
    switch end {
    case .exit(let code): "exit \(code)"
    case .signal(let number): "signal \(number)"
    case .failure(.deadlock): "deadlock"
    case .failure(.misuse): "misuse"
    case .failure(.endless): "endless"
    case .failure(.escape), .failure(.stalled): "escape"
    case .failure: "other"
    }
  }

  func text(_ token: Token) -> String {
    "simulation: " + sentence + "\nReplay it by GRANDCENTRAL_SIMULATE=" + token.text + "\n" + run.told.timeline
  }

  func write(to path: String, events: Int) {
    var text = "end: \(kind)\nsaid: \(sentence.onOneLine)\nsteps: \(run.steps)\nchoices: \(run.record.choices)\n"
    text += "hash: \(String(run.events.hash, radix: 16))\n"
    if run.record.isWhole { text += "switches: " + Token.text(of: run.record.switches) + "\n" }
    if case .failure(.deadlock) = end {
      let waits = run.lastWaits.sorted { $0.key < $1.key }.map { "\($0.key).\($0.value)" }
      text += "waits: " + waits.joined(separator: " ") + "\n"
    }
    var number: UInt32 = 0
    var name: UnsafePointer<CChar>?
    while case let times = gcs_times_outside(number, &name), times > 0, let name {
      text += "outside: \(times) " + String(cString: name).onOneLine + "\n"
      number += 1
    }
    for sentence in left { text += "left: " + sentence.onOneLine + "\n" }
    for branch in branches {
      let others = branch.others.map { String($0) }.joined(separator: " ")
      text += "branch: \(branch.thread) \(branch.choice) \(branch.isPreemption ? 1 : 0) \(others)\n"
    }
    text += "timeline:\n" + run.told.text(ofLast: events)
    Self.write((run.places.map { Self.places($0) } ?? []) + Array(text.utf8), to: path)
  }

  /// Where threads wait: a line each, with its addresses, and the lines of the kernel's about the files that these are in. Their paths may
  /// be any bytes.
  private static func places(_ places: WaitPlaces) -> [UInt8] {
    var text = ""
    for (_, thread, stack) in places.stacks.sorted(by: { $0.number < $1.number }) {
      let addresses = stack.addresses.map { String($0, radix: 16) }.joined(separator: " ")
      text += "stack: \(addresses):\(thread.onOneLine)\n"
    }
    var bytes = Array(text.utf8)
    for line in read("/proc/self/maps").split(separator: UInt8(ascii: "\n")) {
      bytes += "map: ".utf8
      bytes += line
      bytes.append(UInt8(ascii: "\n"))
    }
    return bytes
  }

  private static func read(_ path: String) -> [UInt8] {
    let file = gcs_open_beyond(path, O_RDONLY)
    if file < 0 { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    while true {
      let more = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
        count = max(0, Glibc.read(file, buffer.baseAddress, buffer.count))
      }
      if more.isEmpty { return bytes }
      bytes += more
    }
  }

  func writeTrace(to path: String) { Self.write(TraceOfRun(run.told).bytes, to: path) }

  private static func write(_ bytes: [UInt8], to path: String) {
    let file = gcs_open_beyond(path, O_WRONLY | O_CREAT | O_TRUNC)
    if file < 0 || !Console.write(bytes, to: file) {
      Console.write("simulation: no report can be written: " + String(cString: strerror(errno)) + "\n")
    }
    if file >= 0 { close(file) }
  }
}
