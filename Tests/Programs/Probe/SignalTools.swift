// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// For the scenarios about signals.
extension Scenario {
  /// An active source, the sum of its data, and the number of its calls.
  struct CountedSignal {
    let source: any DispatchSourceSignal
    let sum = Counter()
    let calls = Counter()

    init(_ signal: Int32) {
      source = DispatchSource.makeSignalSource(signal: signal, queue: DispatchQueue(label: "signal"))
      let registered = Latch()
      source.setRegistrationHandler { registered.open() }
      source.setEventHandler { [unowned source, sum, calls] in
        sum.add(Int(source.data))
        calls.add()
      }
      source.activate()
      require(registered.wait(), "the source is registered")
    }

    /// Returns the disposition's letters as the cancel handler finds them.
    func cancel(_ signal: Int32) -> String {
      let (found, cancelled) = (Recorder<String>(), Latch())
      source.setCancelHandler {
        found.note(installed(signal))
        cancelled.open()
      }
      source.cancel()
      require(cancelled.wait(), "the cancel handler runs")
      return found.values[0]
    }
  }

  static func mask(_ name: String, in text: String? = readText("/proc/thread-self/status")) -> UInt64 {
    let line = (text ?? "").split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
    return UInt64(line.drop { $0 != "\t" && $0 != " " }.drop { $0 == "\t" || $0 == " " }, radix: 16) ?? .max
  }

  /// The kernel's own view, which nobody interposes.
  static func installed(_ signal: Int32) -> String {
    let bit = UInt64(1) << UInt64(signal - 1)
    if mask("SigIgn") & bit != 0 { return "ignored" }
    return mask("SigCgt") & bit != 0 ? "handled" : "default"
  }

  /// The handler that `sigaction` tells of.
  static func handler(of signal: Int32) -> UInt {
    var action = sigaction()
    require(sigaction(signal, nil, &action) == 0, "sigaction: \(errno)")
    return address(of: action)
  }

  static func address(of action: sigaction) -> UInt {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
  }

  /// Sends one after the other, each when the one before has been counted.
  static func paced(_ count: Int, _ counter: Counter, _ send: () -> Void) {
    let start = counter.value
    for sent in 1...count {
      send()
      require(eventually { counter.value >= start + sent }, "signal \(sent) of \(count) arrives")
    }
  }

  static func sendToProcess(_ signal: Int32) { kill(getpid(), signal) }

  static func block(_ signals: Int32..., how: Int32 = SIG_BLOCK) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(how, &set, nil)
  }

  /// Under a sanitizer the source notices a changed disposition at the engine's next event, so this makes events happen.
  static func settle(until isRight: () -> Bool) {
    let settled = eventually {
      if isRight() { return true }
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {}
      return false
    }
    require(settled, "the source's handler is in place")
  }
}
