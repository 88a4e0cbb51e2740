// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension Snapshot {
  /// What `gcd snapshot --help` says about the members.
  static let jsonHelp = """
    Members: pid, name, state (the kernel's letter), library, parallelism, threadBudget, recording, listsObjects, torn (entries of \
    threads and objects that changed at each look, and are left out), leftOut (threads that \
    wait and are not listed, for want of room), pool {workers, active, waiting, asleep}, threads, objects. A thread: tid, name, role (program, worker, main, monitor), state (active, asleep, \
    waiting), forSeconds; if it waits, wait {kind (queue, itemElsewhere, group, semaphore, workItem, apply, once, other), \
    address, number, label, owner (a tid), hasDeadline, caller, \
    count (of a group's members, of a semaphore's waiters)}; inside {label, address}; while the process records, item \
    {forSeconds, function, queue}; items, waits, sleeps, wakes, lost; kernel {state, channel, call, descriptor, forSeconds, \
    lockOwner}. An object: number, kind (serial, concurrent, workloop, main, global, source, timer, channel, group), label, address, \
    forSeconds, target (a number), qos, width, suspensions, inactive, ended; one that is no queue has its kind of source for a label, and \
    descriptor, process or signal (a source, a channel), nextSeconds (a timer: until it fires, negative if it is late), \
    intervalSeconds, leewaySeconds, members and changedSeconds (a group: how long ago it was entered or left), operations, bytesToWrite, \
    barriers (that wait), readsForSeconds and writesForSeconds (a channel: how long an operation has waited for its descriptor), cancelled. Addresses are text in hexadecimal digits; what is \
    not known is left out.
    """

  var json: JSONValue {
    .object([
      ("pid", .integer(Int(pid))), ("name", .string(program.name)), ("state", .string(String(program.state))),
      ("library", .string(library)), ("parallelism", .integer(parallelism)), ("threadBudget", .integer(threadBudget)),
      ("recording", .bool(isRecording)), ("listsObjects", .bool(listsObjects)), ("torn", .integer(torn)),
      ("leftOut", .integer(leftOut)),
      ("pool", pool), ("threads", .array(threads.map(\.json))), ("objects", .array(objects.map(\.json))),
    ])
  }

  private var pool: JSONValue {
    let workers = workers
    func count(_ state: State) -> JSONValue { .integer(workers.count { $0.state == state }) }
    return .object([
      ("workers", .integer(workers.count)), ("active", count(.active)), ("waiting", count(.waiting)),
      ("asleep", count(.asleep)),
    ])
  }

  fileprivate static func seconds(_ nanoseconds: UInt64) -> JSONValue { .number(Double(nanoseconds) / 1e9) }

  fileprivate static func address(_ name: String, _ address: UInt64) -> [(String, JSONValue)] {
    address == 0 ? [] : [(name, .string("0x" + String(address, radix: 16)))]
  }

  fileprivate static func text(_ name: String, _ text: String) -> [(String, JSONValue)] {
    text.isEmpty ? [] : [(name, .string(text))]
  }

  fileprivate static func number(_ name: String, _ number: Int) -> [(String, JSONValue)] {
    number == 0 ? [] : [(name, .integer(number))]
  }
}

extension Snapshot.Thread {
  fileprivate var json: JSONValue {
    var members: [(String, JSONValue)] = [
      ("tid", .integer(Int(tid))), ("name", .string(name)), ("role", .string(role.rawValue)),
      ("state", .string(state.rawValue)), ("forSeconds", Snapshot.seconds(age)),
    ]
    if let wait { members.append(("wait", wait.json)) }
    if !insideLabel.isEmpty || insideAddress != 0 {
      members.append(
        ("inside", .object([("label", .string(insideLabel))] + Snapshot.address("address", insideAddress))))
    }
    if let item {
      members.append(
        (
          "item",
          .object(
            [("forSeconds", Snapshot.seconds(item.age))] + Snapshot.address("function", item.function)
              + Snapshot.number("queue", item.queue))
        ))
    }
    members += [
      ("items", .count(items)), ("waits", .count(waits)), ("sleeps", .count(sleeps)), ("wakes", .count(wakes)),
      ("lost", .count(lost)),
    ]
    if let kernel { members.append(("kernel", kernel.json)) }
    return .object(members)
  }
}

extension Snapshot.Wait {
  fileprivate var json: JSONValue {
    .object(
      [("kind", .string(kind.rawValue))] + Snapshot.address("address", address) + Snapshot.number("number", number)
        + Snapshot.text("label", label) + Snapshot.number("owner", Int(owner)) + [("hasDeadline", .bool(hasDeadline))]
        + Snapshot.address("caller", caller) + Snapshot.number("count", count))
  }
}

extension KernelThread {
  fileprivate var json: JSONValue {
    var members: [(String, JSONValue)] = [("state", .string(String(state)))]
    members += Snapshot.text("channel", channel)
    if let call { members.append(("call", .string(call.name ?? String(call.number)))) }
    members += Snapshot.text("descriptor", descriptor)
    if let age { members.append(("forSeconds", Snapshot.seconds(age))) }
    members += Snapshot.number("lockOwner", Int(lockOwner))
    return .object(members)
  }
}

extension Snapshot.Object {
  fileprivate var json: JSONValue {
    var members: [(String, JSONValue)] = [
      ("number", .integer(number)), ("kind", .string(kind.rawValue)), ("label", .string(label)),
    ]
    members += Snapshot.address("address", address)
    members.append(("forSeconds", Snapshot.seconds(age)))
    members += Snapshot.number("target", target) + Snapshot.text("qos", Snapshot.className(qos))
    if let width, kind.isQueue { members.append(("width", .integer(width))) }
    if let state { members += self.members(of: state) }
    members += [
      ("suspensions", .integer(suspensions)), ("inactive", .bool(isInactive)), ("ended", .bool(endedAge != nil)),
    ]
    return .object(members)
  }
  private func members(of state: Snapshot.ObjectState) -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = []
    if let handle = state.handle { members.append((watchedKind, .integer(handle))) }
    if let remaining = state.remaining { members.append(("nextSeconds", .number(Double(remaining) / 1e9))) }
    if kind == .timer, state.interval > 0 {
      members.append(("intervalSeconds", .number(Double(state.interval) / 1e9)))
    }
    if kind == .timer, state.leeway > 0 { members.append(("leewaySeconds", Snapshot.seconds(state.leeway))) }
    if kind == .group {
      members.append(("members", .integer(state.count)))
      if let changed = state.changed { members.append(("changedSeconds", Snapshot.seconds(changed))) }
    }
    if kind == .channel {
      members += [
        ("operations", .integer(state.count)), ("bytesToWrite", .integer(state.bytes)),
        ("barriers", .integer(state.barriers)),
      ]
      if let reads = state.reads { members.append(("readsForSeconds", Snapshot.seconds(reads))) }
      if let writes = state.writes { members.append(("writesForSeconds", Snapshot.seconds(writes))) }
    }
    if kind != .group { members.append(("cancelled", .bool(state.isCancelled))) }
    return members
  }
}
