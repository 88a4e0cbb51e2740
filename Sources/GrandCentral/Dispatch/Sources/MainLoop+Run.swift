// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension MainLoop {
  /// Drains the main queue for ever, and the toolchain's by a source of ours.
  static func run() -> Never {
    begin()
    beginInsight()
    #if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
      ForeignMainQueue.adopt()
    #endif
    loop()
  }
}

#if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
  extension ForeignMainQueue {
    /// The main thread runs what the runtime sends to that queue from now on, as items of our main queue.
    fileprivate static func adopt() {
      guard let descriptor = ToolchainMain.descriptor else { return }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: GlobalQueues.main)
      source.setEventHandler { ToolchainMain.drain(descriptor) }
      source.activate()
      // What was there before.
      GlobalQueues.main.submitSlow { ToolchainMain.drain(descriptor) }
    }
  }
#endif
