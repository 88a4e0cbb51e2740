// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
  /// The main queue of a run, whose items its first thread runs.
  final class SimulatedMainQueue: DispatchQueue, @unchecked Sendable {  // adds no state
    init() { super.init(kind: .main, name: QueueName("com.apple.main-thread"), qos: .unspecified, target: nil) }

    /// That of the calling thread's simulation; the process's own before the run and behind it.
    @inline(never)
    static func ofRun() -> DispatchQueue { World.current?.main as? DispatchQueue ?? GlobalQueues.main }

    override func callMainThread() { World.current?.callMain() }

    override var isOnMainThread: Bool { World.isFirst }
  }
#endif
