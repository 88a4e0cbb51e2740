// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import FoundationEssentials

/// The machine in a line.
enum Machine {
  static var description: String {
    let model = field("/proc/cpuinfo", "model name") ?? "unknown processor"
    let kernel = contents("/proc/sys/kernel/osrelease").map { "Linux \($0)" } ?? "Linux"
    return "\(Processors.usable.count) processors (\(model)), \(kernel)"
  }

  /// The commit of the library, as `Scripts/benchmark` tells it.
  static var library: String { ProcessInfo.processInfo.environment["GC_MEASURED"] ?? "unknown" }

  private static func field(_ path: String, _ name: String) -> String? {
    contents(path)?.split(separator: "\n").first { $0.hasPrefix(name) }?
      .split(separator: ":", maxSplits: 1).last.map { String($0.drop { $0 == " " }) }
  }

  /// How many threads wanted to run during the last minute.
  static var load: Double? {
    contents("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) }
  }

  private static func contents(_ path: String) -> String? {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
    return String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true)
      .joined(separator: "\n")
  }
}
