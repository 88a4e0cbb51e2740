// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What `gcd top --once --json` prints, and what the key y copies.
enum TopJSON {
  static let help = """
    Members: snapshot (as of "gcd snapshot --json"), why (as of "gcd why --json"), and, if something is recorded, rates: seconds, \
    lost, queues {number, label, itemsPerSecond, busy, submittedPerSecond, latencyP50Nanoseconds, \
    latencyP99Nanoseconds, pending, oldestNanoseconds, eventsPerSecond, lateNanoseconds}. If lost is not 0, \
    what is counted is at least so much, latencies are of what was submitted and began while nothing was lost, and pending is not known. \
    If stoodStill is there, recording did not go on all the time, as the process did not hear from the tool: the same holds. \
    If overfull is there, more was pending than the tool counts: pending is not known, and latencies are those of a sample. \
    With --all, processes: an array of these.
    """

  static func value(_ model: TopModel) -> JSONValue {
    var members: [(String, JSONValue)] = [("snapshot", model.snapshot.json), ("why", WhyJSON.value(model.report))]
    if let rates = model.rates { members.append(("rates", value(rates, model))) }
    return .object(members)
  }

  private static func value(_ rates: TopRates, _ model: TopModel) -> JSONValue {
    let queues = rates.queues.sorted { $0.key < $1.key }.map { number, queue -> JSONValue in
      var members: [(String, JSONValue)] = [
        ("number", .integer(number)), ("label", .string(model.snapshot.object(number)?.label ?? "")),
        ("itemsPerSecond", .number(rates.perSecond(queue.items))), ("busy", .number(rates.busy(queue))),
        ("submittedPerSecond", .number(rates.perSecond(queue.submitted))),
      ]
      members += nanoseconds("latencyP50Nanoseconds", queue.latency.quantile(0.5))
      members += nanoseconds("latencyP99Nanoseconds", queue.latency.quantile(0.99))
      members.append(("pending", .integer(queue.depth)))
      if let age = model.rates?.age(queue.oldest) {
        members += nanoseconds("oldestNanoseconds", age)
      }
      members.append(("eventsPerSecond", .number(rates.perSecond(queue.events))))
      members += nanoseconds("lateNanoseconds", queue.late == 0 ? nil : queue.late)
      return .object(members)
    }
    var members: [(String, JSONValue)] = [
      ("seconds", .number(Double(rates.length) / 1e9)), ("lost", .count(rates.lost)),
    ]
    if rates.stoodStill { members.append(("stoodStill", .bool(true))) }
    if rates.isOverfull { members.append(("overfull", .bool(true))) }
    return .object(members + [("queues", .array(queues))])
  }

  private static func nanoseconds(_ name: String, _ nanoseconds: UInt64?) -> [(String, JSONValue)] {
    nanoseconds.map { [(name, .count($0))] } ?? []
  }
}
