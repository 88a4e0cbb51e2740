// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// In which functions of a program its threads wait.
struct SimPlaces {
  private let report: SimReport
  private let code: ProcessCode

  private static let most = 3

  init(_ report: SimReport) {
    self.report = report
    code = ProcessCode(report.files)
  }

  /// One for each thread of which a function is known: the innermost ones of the program, and of its libraries.
  var sentences: [String] {
    report.stacks.compactMap { thread, addresses in
      // A return address may be that of the next function: the call stands before it.
      var frames = addresses.map { $0 > 0 ? $0 - 1 : 0 }.compactMap { address in
        code.mapping(of: address).map {
          (file: $0.path.split(separator: "/").last ?? "", name: code.name(of: address, in: $0))
        }
      }
      frames.removeAll { frame in Self.library.contains { frame.file.hasPrefix($0) } || frame.name.contains(" thunk ") }
      // What has started the thread.
      while let last = frames.last, Self.beginning.contains(where: { last.file.hasPrefix($0) }) || last.name == "_start"
      {
        frames.removeLast()
      }
      let names = frames.prefix(Self.most).map(\.name)
      return names.isEmpty ? nil : thread + " waits in " + names.joined(separator: ", called in ")
    }
  }

  private static let library = ["libdispatch.so", "libswiftDispatch.so", "libBlocksRuntime.so"]
  private static let beginning = ["libc.so", "ld-linux"]
}
