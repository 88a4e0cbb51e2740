// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Where signals that the screen must know of are written to; -1 while there is no screen.
private let signalPipe = Atomic<Int32>(-1)
/// The terminal's descriptor plus one while its modes are changed; 0 otherwise.
private let changedTerminal = Atomic<Int32>(0)
/// What the modes were. Written before the terminal is changed, read afterwards.
nonisolated(unsafe) private var formerModes = termios()

/// The whole terminal, for as long as the tool uses it: the alternate screen, without an echo. Every exit restores the
/// terminal.
final class TopScreen {
  private let input: Int32
  private let output: Int32
  private var pipe: (read: Int32, write: Int32)
  private var keys = TopKeys()
  private let usesColour: Bool
  /// What the terminal shows.
  private var shown: [TopLine] = []
  private(set) var columns = 80
  private(set) var rows = 24

  enum Event: Equatable {
    case key(TopKey)
    /// The screen is empty, perhaps of another size.
    case resized
    case signal(Int32)
    /// The terminal is gone.
    case gone
  }

  /// How long a lone escape waits for the rest of a sequence.
  private static let escapeMilliseconds: Int32 = 50

  /// Nil if there is no terminal.
  init?(usesColour: Bool) {
    output = 1
    guard isatty(output) == 1 else { return nil }
    input = isatty(0) == 1 ? 0 : open("/dev/tty", O_RDONLY | O_CLOEXEC)
    var ends: [Int32] = [0, 0]
    guard input >= 0, Glibc.pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    pipe = (ends[0], ends[1])
    self.usesColour = usesColour
    guard tcgetattr(input, &formerModes) == 0 else { return nil }
    // relaxed: the handlers are installed afterwards, by a system call.
    signalPipe.store(pipe.write, ordering: .relaxed)
    Self.install()
    enter()
  }

  // MARK: The terminal

  private func enter() {
    var modes = formerModes
    cfmakeraw(&modes)
    tcsetattr(input, TCSADRAIN, &modes)
    // relaxed: for handlers of this thread, and for others after a crash.
    changedTerminal.store(input + 1, ordering: .relaxed)
    // The other screen; no cursor; lines are not broken at the edge; buttons of the mouse are told, by numbers in text.
    Terminal.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?1000h\u{1B}[?1006h\u{1B}[2J", to: .output)
    shown = []
    measure()
  }

  /// Gives the terminal back as it was.
  func leave() { Self.restore() }

  fileprivate static func restore() {
    // relaxed: the thread that takes it out gives the terminal back, once.
    let input = changedTerminal.exchange(0, ordering: .relaxed) - 1
    guard input >= 0 else { return }
    let text: StaticString = "\u{1B}[?1006l\u{1B}[?1000l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    _ = write(1, text.utf8Start, text.utf8CodeUnitCount)
    tcsetattr(input, TCSANOW, &formerModes)
  }

  /// Stops with its job, as a terminal stops it; when that is continued the screen is there again. Where no shell could continue it the
  /// kernel stops nothing, and the screen is drawn anew. A caller that ignores the signal wants no stop.
  func suspend() {
    if Interrupt.isIgnored(SIGTSTP) { return }
    leave()
    // That it has been continued is no news then.
    for number in [SIGTSTP, SIGCONT] { signal(number, SIG_DFL) }
    kill(0, SIGTSTP)
    Self.listen(to: [SIGTSTP, SIGCONT])
    enter()
  }

  private func measure() {
    var size = winsize()
    guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return }
    (columns, rows) = (min(Int(size.ws_col), 1000), min(Int(size.ws_row), 500))
  }

  // MARK: Showing

  /// Writes the lines that have changed.
  func show(_ lines: [TopLine]) {
    var text = ""
    for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
      text += "\u{1B}[\(row + 1);1H" + line.escaped(usesColour: usesColour)
    }
    // What the terminal shows after a failure is not known.
    shown = text.isEmpty || Terminal.write(text, to: .output) ? lines : []
  }

  /// Lets the terminal keep a text, for the user to paste.
  func copy(_ text: String) { Terminal.write("\u{1B}]52;c;\(Base64.text(text))\u{07}", to: .output) }

  // MARK: Waiting

  /// What has happened, after `milliseconds` at most.
  func wait(milliseconds: Int32) -> [Event] {
    let limit = keys.isUndecided ? min(milliseconds, Self.escapeMilliseconds) : milliseconds
    var polled = [
      pollfd(fd: input, events: Int16(POLLIN), revents: 0), pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0),
    ]
    let count = poll(&polled, 2, limit)
    if count == 0 { return keys.settle().map { .key($0) } }
    guard count > 0 else { return [] }
    var events: [Event] = []
    if polled[1].revents != 0 { events += signals() }
    if polled[0].revents != 0 {
      var buffer = [UInt8](repeating: 0, count: 1024)
      let length = read(input, &buffer, buffer.count)
      if length > 0 {
        events += keys.keys(buffer[..<length]).map { .key($0) }
      } else if length == 0 || errno != EINTR && errno != EAGAIN {
        events.append(.gone)
      }
    }
    return events
  }

  private func signals() -> [Event] {
    var buffer = [UInt8](repeating: 0, count: 64)
    let length = read(pipe.read, &buffer, buffer.count)
    return buffer.prefix(max(0, length)).map { byte in
      switch Int32(byte) {
      case SIGWINCH:
        measure()
        shown = []
        Terminal.write("\u{1B}[2J", to: .output)
      case SIGTSTP: suspend()
      // It has been stopped by what no handler sees: meanwhile the terminal was that of others.
      case SIGCONT: enter()
      default: return .signal(Int32(byte))
      }
      return .resized
    }
  }

  private static func listen(to signals: [Int32]) {
    for signal in signals {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { signal in
        let former = errno
        var byte = UInt8(truncatingIfNeeded: signal)
        // relaxed: a number that does not change while handlers are installed.
        _ = write(signalPipe.load(ordering: .relaxed), &byte, 1)
        errno = former
      }
      action.sa_flags = SA_RESTART
      sigaction(signal, &action, nil)
    }
  }

  private static func install() {
    listen(to: [SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGCONT])
    listen(to: [SIGTSTP, SIGQUIT].filter { !Interrupt.isIgnored($0) })
    // If the tool crashes, the terminal stays usable.
    for signal in [SIGABRT, SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE] {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { signal in
        TopScreen.restore()
        raise(signal)
      }
      action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND))
      sigaction(signal, &action, nil)
    }
    atexit { TopScreen.restore() }
  }
}

/// Text as terminals take it for the clipboard.
enum Base64 {
  static func text(_ text: String) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let part = bytes[start..<min(start + 3, bytes.count)]
      var word = 0
      for index in 0..<3 { word = word << 8 | (index < part.count ? Int(part[start + index]) : 0) }
      for index in 0..<4 {
        result.append(index <= part.count ? letters[word >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
