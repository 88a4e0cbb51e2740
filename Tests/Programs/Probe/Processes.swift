// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let processes: [String: Body] = [
    "process-missing": processMissing, "process-unprivileged": processUnprivileged, "process-idle": processIdle,
    "process-fork": processFork,
  ]

  /// A child that ends when this process does, or when it is killed.
  private static func sleeper() -> pid_t {
    let (parent, child) = (getpid(), gc_fork())
    if child == 0 {
      while getppid() == parent { usleep(10_000) }
      _exit(0)
    }
    return child
  }

  private static func watch(
    _ process: pid_t, _ mask: DispatchSource.ProcessEvent, _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceProcess {
    let source = DispatchSource.makeProcessSource(identifier: process, eventMask: mask, queue: .global())
    source.setEventHandler(handler: handler)
    source.activate()
    return source
  }

  private static func requireExit(_ process: pid_t, _ mask: DispatchSource.ProcessEvent) {
    let ended = Latch()
    let source = watch(process, mask) { ended.open() }
    kill(process, SIGKILL)
    require(ended.wait(), "the exit is heard of")
    require(source.exitStatus == .killed(signal: SIGKILL, dumpedCore: false), "the status is known")
    source.cancel()
    var status: Int32 = 0
    require(waitpid(process, &status, 0) == process && status == SIGKILL, "the child is there to be reaped")
  }

  private static let processMissing: Body = { requireExit(sleeper(), [.exit, .signal]) }

  private static let processUnprivileged: Body = {
    if getuid() == 0 { require(setuid(65534) == 0, "to lose the privilege") }
    let supported = DispatchSource.supportedProcessEvents
    if supported.contains(.fork) { skip("the kernel tells everybody") }
    report("supported", Int(supported.rawValue))
    requireExit(sleeper(), [.exit, .fork, .exec])
  }

  /// Processes that have ended, with sources that are active, and with one that is suspended.
  private static let processIdle: Body = {
    if Kernel.isSanitized { skip("a sanitizer has work of its own") }
    let children = (0..<8).map { _ in sleeper() }
    let ended = Latch(7)
    let sources = children.map { watch($0, .exit) { ended.open() } }
    sources[0].suspend()
    for child in children { kill(child, SIGKILL) }
    require(ended.wait(), "the exits are heard of")
    for child in children.dropFirst(4) { waitpid(child, nil, 0) }
    report("share", processorShare(asleep: 500))
    sources[0].resume()
    for source in sources { source.cancel() }
  }

  /// The child cancels the parent's source and watches a process of its own; the parent still hears.
  private static let processFork: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    // Threads of the parent may be in the Swift runtime, whose locks the child never gets.
    if Kernel.isUnoptimised { skip("in an unoptimised build") }
    let (watched, ended) = (sleeper(), Latch())
    let parents = watch(watched, [.exit, .fork, .exec]) { ended.open() }
    let child = gc_fork()
    if child == 0 {
      parents.cancel()
      requireExit(sleeper(), .exit)
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
    kill(watched, SIGKILL)
    report("parent", ended.wait())
    parents.cancel()
  }
}
