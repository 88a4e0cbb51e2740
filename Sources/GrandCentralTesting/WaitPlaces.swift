// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if GRANDCENTRAL_DROPIN
  import CSimulation
#elseif canImport(Runtime)
  import Runtime
#endif

/// Where the threads of a deadlock wait: which lines of the program have called what does not return.
///
/// To walk a stack takes longer than most runs, and nearly all waits end. So the run that has failed tells the last wait of each thread by its
/// number alone. The same schedule then runs once more, and there each of these waits notes its stack as it begins. The lines are looked up
/// when somebody wants to read them: that takes a second in a large program.
final class WaitPlaces: @unchecked Sendable {  // changed by threads of one run, each as it has the turn
  /// Of each thread that waits, which of its waits that is.
  private let wanted: [Int: Int]
  /// Nobody reads more, and each takes some ten milliseconds where a program has many symbols.
  private static let most = 16
  private(set) var stacks: [(number: Int, thread: String, stack: CallStack)] = []

  init(_ wanted: [Int: Int]) { self.wanted = wanted }

  /// By the thread, as so many of its waits have begun.
  func note(_ number: Int, _ thread: String, waits: Int) {
    if wanted[number] == waits, stacks.count < Self.most, let stack = CallStack() {
      stacks.append((number, thread, stack))
    }
  }

  /// A sentence for each thread of which a line is known.
  var sentences: [String] {
    stacks.sorted { $0.number < $1.number }.compactMap { _, thread, stack in
      let lines = stack.lines
      return lines.isEmpty ? nil : thread + " waits at " + lines.joined(separator: ", called at ")
    }
  }
}

#if GRANDCENTRAL_DROPIN
  /// Of a program's thread: its addresses, of which the tool knows the names.
  struct CallStack {
    private static let most = 64

    let addresses: [UInt]
    let lines: [String] = []

    /// Of the calling thread.
    init?() {
      var found = [UnsafeMutableRawPointer?](repeating: nil, count: Self.most)
      let count = Int(gcs_walk_stack(&found, Int32(found.count)))
      addresses = found.prefix(count).map { UInt(bitPattern: $0) }
    }
  }
#elseif canImport(Runtime)
  struct CallStack {
    /// Calls of the library and of the kit between a program's call and the wait, and the program's own.
    private static let mostFrames = 100
    private static let mostLines = 3
    /// What the library and the kit are made of.
    private static let modules: Set<Substring> = [
      "GrandCentral", "GrandCentralTesting", "GrandCentralTestingTraits", "GrandCentralTestingXCTest", "CPlatform",
    ]

    private let frames: Backtrace

    /// Of the calling thread; nil if the stack cannot be read.
    init?() {
      guard let frames = try? Backtrace.capture(algorithm: .fast, limit: Self.mostFrames) else { return nil }
      self.frames = frames
    }

    /// The innermost lines that are not the library's. In code that was optimised one may be that of a caller, or of a call at its end.
    var lines: [String] {
      let locations =
        frames.symbolicated()?.frames.compactMap { $0.symbol?.sourceLocation } ?? []
      let own = locations.filter { $0.line > 0 && !$0.path.hasPrefix("<") && !Self.isLibrary($0.path) }
      return own.prefix(Self.mostLines).map { location in
        // The body of an exit test, say, has no other lines than these.
        if location.path.hasPrefix("@") { return "line \(location.line) of what a macro expands to" }
        return "\(location.path.split(separator: "/").last ?? ""):\(location.line)"
      }
    }

    /// Some paths are said from wherever the code was compiled.
    private static func isLibrary(_ path: String) -> Bool {
      let parts = path.split(separator: "/")
      return zip(parts, parts.dropFirst()).contains { $0 == "Sources" && modules.contains($1) }
    }
  }
#else
  /// The toolchain has nothing that walks a stack.
  struct CallStack {
    let lines: [String] = []
    init?() { return nil }
  }
#endif
