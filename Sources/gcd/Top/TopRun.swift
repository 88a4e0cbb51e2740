// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// One run of `gcd top`.
final class TopRun {
  private let options: TopOptions
  private var child: TopChild?
  private var session: TopSession?
  private var state = TopState()
  private var list = TopListState()

  static func start(_ options: TopOptions) -> Never {
    if let port = options.port { WebRun.start(options, port: port) }
    let run = TopRun(options)
    let code = options.once ? run.once() : run.live()
    run.session?.end()
    exit(code)
  }

  private init(_ options: TopOptions) { self.options = options }

  private func begin(_ process: Int32) -> TopSession {
    let session = TopSession(process, options.rules, wantsRecords: options.records)
    self.session = session
    return session
  }

  private static func tell(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  // MARK: Once

  private func once() -> Int32 {
    switch options.target {
    case .all:
      let models = TopList.look(options.rules)
      let text =
        options.printsJSON
        ? JSONValue.object([("processes", .array(models.map(TopJSON.value)))]).text
        : plain(TopList.table(models))
      return Terminal.writeOutput(text + "\n") ? EXIT_SUCCESS : Terminal.cannotWrite
    case .process(let process):
      // What was switched on must be switched off.
      Interrupt.install()
      TraceOutput.ignoreSignals()
      return once(begin(process), nil)
    case .command(let command):
      // What was started must end: keys of the terminal do not reach it. It ignores nothing that the tool's caller does not.
      Interrupt.install()
      guard let child = start(command) else { return Self.cannotStart }
      defer { child.kill() }
      TraceOutput.ignoreSignals()
      let session = begin(child.process)
      // A program that has only begun shows nothing yet.
      let limit = RegionClock.now().uptime + Self.firstRegion
      while !child.hasEnded, RegionClock.now().uptime < limit, (try? Snapshot(process: child.process)) == nil {
        if let signal = Interrupt.received { return 128 + signal }
        Self.pause(0.02)
      }
      return once(session, child)
    }
  }

  private static let firstRegion: UInt64 = 10_000_000_000
  private static let cannotStart: Int32 = 127

  private func once(_ session: TopSession, _ child: TopChild?) -> Int32 {
    do throws(RegionFailure) {
      _ = try session.look()
      let end = RegionClock.now().uptime + UInt64(options.interval * 1e9)
      while RegionClock.now().uptime < end {
        Self.pause(min(0.1, options.interval))
        if let signal = Interrupt.received { return 128 + signal }
        session.collect()
      }
      let model = try session.look()
      var text = TopJSON.value(model).text
      if !options.printsJSON {
        text = (model.head + model.findings).map(\.text).joined(separator: "\n")
        for page in TopPage.allCases where page != .overview {
          text += "\n\n\(page.title)\n" + plain(TopPages(model).table(page))
        }
      }
      return Terminal.writeOutput(text + "\n") ? EXIT_SUCCESS : Terminal.cannotWrite
    } catch {
      if let child, child.hasEnded, let words = child.words, let code = child.code {
        Self.tell(words)
        return code
      }
      Self.tell(error.words)
      return error.code
    }
  }

  /// A table without a screen: as wide as the terminal, or as everything needs.
  private func plain(_ table: TopTable) -> String {
    let width = Terminal.style(of: .output).columns ?? 160
    let lines = [table.head(width, sortedBy: -1)] + table.rows.map { table.line($0, width) }
    return lines.map { String($0.text.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
  }

  private static func pause(_ seconds: Double) { usleep(UInt32(seconds * 1e6)) }

  // MARK: Live

  private func live() -> Int32 {
    if case .command(let command) = options.target {
      guard let child = start(command) else { return Self.cannotStart }
      self.child = child
      _ = begin(child.process)
    } else if case .process(let process) = options.target {
      // A process that cannot be looked at is reported before the screen is opened.
      do throws(RegionFailure) { _ = try begin(process).look() } catch {
        Self.tell(error.words)
        return error.code
      }
    }
    // Not before the command has been started: it ignores nothing that the tool's caller does not.
    TraceOutput.ignoreSignals()
    guard let screen = TopScreen(usesColour: Terminal.style(of: .output).usesColour) else {
      Self.tell("standard output is no terminal: use --once")
      child?.kill()
      return Terminal.cannotWrite
    }
    let end = loop(screen)
    screen.leave()
    if let words = end.words { Self.tell(words) }
    if let child {
      child.kill()
      return child.hasEnded ? child.code ?? end.code : end.code
    }
    return end.code
  }

  private struct End {
    var words: String?
    var code: Int32 = EXIT_SUCCESS
  }

  /// Shows the screen until the user quits or the process has ended.
  private func loop(_ screen: TopScreen) -> End {
    var model: TopModel?
    var models: [TopModel] = []
    var nextLook: UInt64 = 0
    // Records are collected ten times a second: the screen stays as it is meanwhile.
    var isStale = true
    while true {
      let now = RegionClock.now().uptime
      if now >= nextLook, !state.isPaused {
        isStale = true
        nextLook = now + UInt64(options.interval * 1e9)
        if let session {
          do throws(RegionFailure) { model = try session.look() } catch {
            if let end = end(after: error) { return end }
            if child == nil { (model, nextLook) = (nil, 0) }
          }
        } else {
          models = TopList.look(options.rules)
        }
      } else if let child, child.hasEnded {
        return End(words: child.words)
      } else {
        session?.collect()
      }
      if let words = session?.takeTraceOutcome() { (state.message, isStale) = (words, true) }
      if isStale { show(screen, model, models) }
      isStale = false
      let limit = min(nextLook > now ? (nextLook - now) / 1_000_000 : 0, session?.isRecording ?? false ? 100 : 1000)
      for event in screen.wait(milliseconds: Int32(max(5, state.isPaused ? 1000 : limit))) {
        isStale = true
        switch event {
        case .resized: break
        case .gone: return End()
        case .signal(let signal): return End(code: 128 + signal)
        case .key(.control("z")): screen.suspend()
        case .key(let key):
          switch press(key, screen, model, models) {
          case .quit: return End()
          case .copyJSON:
            if let model { screen.copy(TopJSON.value(model).line) }
            state.message = "Copied, if the terminal allows it."
          case .writeTrace: state.message = session?.beginTrace() ?? ""
          case .back:
            guard options.target == .all else { break }
            closeSession()
            (model, nextLook) = (nil, 0)
          case .none: break
          }
        }
      }
    }
  }

  /// What a failed look means: the end, or a return to the list, or a command that does not use the library yet.
  private func end(after failure: RegionFailure) -> End? {
    if let child {
      if child.hasEnded { return End(words: child.words) }
      if case .noRegion = failure { return nil }
      if case .unfinished = failure { return nil }
    } else if options.target == .all {
      closeSession()
      return nil
    }
    // The end of a process is no error.
    if case .hasEnded = failure { return End(words: failure.words) }
    if case .noSuchProcess = failure { return End(words: failure.words) }
    return End(words: failure.words, code: failure.code)
  }

  private func closeSession() {
    session?.end()
    session = nil
  }

  private func press(_ key: TopKey, _ screen: TopScreen, _ model: TopModel?, _ models: [TopModel]) -> TopState.Action {
    if session == nil {
      if let process = list.press(key, ids: models.map { String($0.snapshot.pid) }).flatMap({ Int32($0) }) {
        state = TopState()
        _ = begin(process)
      }
      return key == .character("q") || key == .control("c") ? .quit : .none
    }
    let ids = model.map { TopView.table($0, state).rows.map(\.id) } ?? []
    return state.press(key, ids: ids, pageRows: screen.rows / 2)
  }

  private func show(_ screen: TopScreen, _ model: TopModel?, _ models: [TopModel]) {
    let view = TopView(columns: screen.columns, rows: screen.rows)
    if session == nil {
      screen.show(view.lines(TopList.table(models), &list))
    } else if let model {
      screen.show(view.lines(model, &state))
    } else {
      screen.show([TopLine("The program has not used GrandCentral yet; q quits.").fitted(screen.columns)])
    }
  }

  private func start(_ command: [String]) -> TopChild? {
    do throws(TopChild.Failure) { return try TopChild(command, output: options.output) } catch {
      Self.tell("\(TextLayout.printable(error.path)): \(String(cString: strerror(error.code)))")
      return nil
    }
  }
}
