// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import FoundationEssentials

/// A peer that is a program of its own: what build.sh in `peers/` made of Go, Rust, oneTBB, OpenMP.
struct PeerProgram {
  private let name: String
  private let path: String
  /// The operations that it knows.
  private let operations: Set<String>

  /// Those that are built.
  static func built() -> [PeerProgram] {
    ["go", "openmp", "rust", "tbb"].compactMap(PeerProgram.init)
  }

  private init?(_ name: String) {
    self.name = name
    path = PeerFiles.builds + name
    guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
    operations = Set(Self.lines(FreshProcess.run([name, "--list"], program: path)))
  }

  /// What it needs for as many operations. Where the sides of the duel start cold, so does it, each time.
  func figures(_ operation: Operation, count: Int, rounds: Int) -> [PeerFigure] {
    guard operations.contains(operation.name) else { return [] }
    let runs = operation.startsCold ? rounds : 1
    var samples: [PeerFigure] = []
    for _ in 0..<runs {
      let arguments = ["--rounds", String(rounds / runs), operation.name, String(count)]
      let output = FreshProcess.run([name] + arguments, program: path)
      let figures = Self.lines(output).compactMap { line in
        try? JSONDecoder().decode(PeerFigure.self, from: Data(line.utf8))
      }
      if figures.isEmpty { Output.error.line("duel: the peer \(name) has nothing to say about \(operation.name)") }
      samples += figures
    }
    return PeerFigure.medians(samples)
  }

  private static func lines(_ output: [UInt8]) -> [String] {
    output.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Where the peers are.
enum PeerFiles {
  static var builds: String { package + ".build/peers/" }
  static var reasons: String { package + "peers/reasons.json" }

  private static var package: String {
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/"
  }
}
