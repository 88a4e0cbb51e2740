// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the command line asks for.
struct Arguments {
  static let usage = """
    usage: Scripts/benchmark duel [options]
      --filter REGEX   only operations whose name matches
      --quick          short samples, 3 rounds
      --rounds N       rounds per operation (5)
      --peers          Swift Concurrency, and the peers that peers/build.sh has built, join the report
      --neighbours N   beside N busy processes: the rows in which a thread waits for another
      --null           libdispatch against itself: shows the noise and the fairness of the harness
      --full           also what takes libdispatch a minute
      --gate           exit with 1 if a row's ratio is above its bar in Thresholds/ratios.json
      --json           print JSON instead of the table
      --markdown FILE  write the report
      --svg FILE       write the chart
      --list           print the names of the operations
    """

  enum Failure: Error {
    case unknown(String)
    case missingValue(String)
    case badValue(String)
    case contradictory(String, String)
  }

  var filter: Regex<AnyRegexOutput>?
  var isQuick = false
  var rounds: Int?
  var hasPeers = false
  var neighbours = 0
  var isNull = false
  var isFull = false
  var isGate = false
  var printsJSON = false
  var markdown: String?
  var svg: String?
  var listsOnly = false
  /// A single sample, for the process that started this one.
  var sample: (side: Contest.Side, name: String, count: Int)?

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      func value() throws -> String {
        guard let value = rest.popFirst() else { throw Failure.missingValue(option) }
        return value
      }
      switch option {
      case "--filter": filter = try Regex(value())
      case "--quick": isQuick = true
      case "--rounds":
        guard let count = Int(try value()), count > 0 else { throw Failure.badValue(option) }
        rounds = count
      case "--peers": hasPeers = true
      case "--neighbours":
        guard let count = Int32(try value()), count > 0 else { throw Failure.badValue(option) }
        neighbours = Int(count)
      case "--null": isNull = true
      case "--full": isFull = true
      case "--gate": isGate = true
      case "--json": printsJSON = true
      case "--markdown": markdown = try value()
      case "--svg": svg = try value()
      case "--list": listsOnly = true
      case "--sample":
        guard let side = Contest.Side(rawValue: try value()) else { throw Failure.badValue(option) }
        let name = try value()
        guard let count = Int(try value()) else { throw Failure.badValue(option) }
        sample = (side, name, count)
      default: throw Failure.unknown(option)
      }
    }
    // In a null duel nothing is ours that a peer could be compared with.
    if isNull && hasPeers { throw Failure.contradictory("--null", "--peers") }
  }
}
