// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// One run of `gcd top --web`.
final class WebRun {
  private let options: TopOptions
  private let session: TopSession
  private let child: TopChild?
  private let server: WebServer
  private var model: TopModel?

  private static let failure: Int32 = 6
  /// How long browsers may take to hear of the end, in nanoseconds.
  private static let farewell: UInt64 = 200_000_000

  static func start(_ options: TopOptions, port: UInt16) -> Never {
    // What was switched on must be switched off.
    Interrupt.install()
    let server: WebServer
    do throws(WebServer.Failure) { server = try WebServer(port: port) } catch {
      fail("127.0.0.1:\(port): \(String(cString: strerror(error.code)))", failure)
    }
    var child: TopChild?
    if case .command(let command) = options.target {
      do throws(TopChild.Failure) { child = try TopChild(command, output: options.output) } catch {
        fail("\(TextLayout.printable(error.path)): \(String(cString: strerror(error.code)))", 127)
      }
    }
    // Only now: the command gets signals as the tool had them.
    TraceOutput.ignoreSignals()
    let run = WebRun(options, child, server)
    let code = run.run()
    run.session.end()
    child?.kill()
    exit(code)
  }

  private init(_ options: TopOptions, _ child: TopChild?, _ server: WebServer) {
    self.options = options
    self.child = child
    self.server = server
    var process: Int32 = child?.process ?? 0
    if case .process(let wanted) = options.target { process = wanted }
    session = TopSession(process, options.rules, wantsRecords: options.records)
  }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    Terminal.write("gcd: \(text)\n", to: .error)
    exit(code)
  }

  private func run() -> Int32 {
    if child == nil {
      // A process that cannot be looked at is reported before anything is served.
      do throws(RegionFailure) { model = try session.look() } catch { Self.fail(error.words, error.code) }
    }
    guard Terminal.writeOutput(server.address + "\n") else { return Self.failure }
    var nextLook: UInt64 = 0
    while true {
      if let signal = Interrupt.received { return 128 + signal }
      let now = RegionClock.now().uptime
      if now >= nextLook {
        nextLook = now + UInt64(options.interval * 1e9)
        do throws(RegionFailure) {
          let found = try session.look()
          model = found
          server.send(event: WebModel.value(found).line)
        } catch {
          if let code = end(after: error) { return code }
        }
      } else {
        session.collect()
      }
      let pause = min((nextLook - now) / 1_000_000 + 1, session.isRecording ? 100 : 1000)
      server.serve(milliseconds: Int32(pause), content)
    }
  }

  private var content: WebServer.Content {
    WebServer.Content(
      page: { WebPage.text }, event: { [model] in model.map { WebModel.value($0).line } },
      json: { [model] in model.map { TopJSON.value($0).text + "\n" } ?? "{}\n" })
  }

  /// The exit code if it is the end; nil for a command that does not use the library yet.
  private func end(after failure: RegionFailure) -> Int32? {
    if let child, !child.hasEnded {
      switch failure {
      case .noRegion, .unfinished: return nil
      default: break
      }
    }
    let words = child?.words ?? failure.words
    server.send(event: WebModel.end(words).line)
    let limit = RegionClock.now().uptime + Self.farewell
    while server.hasStreams, RegionClock.now().uptime < limit { server.serve(milliseconds: 10, content) }
    Terminal.write("gcd: \(words)\n", to: .error)
    if let child { return child.code ?? failure.code }
    switch failure {
    // The end of a process is no error.
    case .hasEnded, .noSuchProcess: return EXIT_SUCCESS
    default: return failure.code
    }
  }
}
