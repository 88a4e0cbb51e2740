// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !hasFeature(Embedded)
  import CPlatform

  /// The main queue of the toolchain's library, where that library is in the process.
  enum ToolchainMain {
    /// A descriptor that is readable while that queue has work; nil if there is none.
    static var descriptor: Int32? {
      let handle = gc_foreign_main_handle()
      return handle < 0 ? nil : handle
    }

    /// Runs that work. On the main thread.
    static func drain(_ descriptor: Int32) { gc_foreign_main_drain(descriptor) }

    /// Puts an item into that queue; false if the library is not in the process, or hides its names, and in a child of fork.
    static func post(_ item: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Bool {
      gc_foreign_main_post(item)
    }

    /// Whether the calling thread runs an item of that queue.
    static var isCurrent: Bool { gc_foreign_main_is_current() }

    /// Whether this process is a child of fork: no thread runs that queue.
    static var isForked: Bool { gc_is_forked() }
  }
#endif
