// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// GRANDCENTRAL_DROPIN: the C face is compiled along, as ordinary Swift.
#if hasFeature(Embedded) || GRANDCENTRAL_DROPIN
  /// A queue's name as C programs give it: bytes, whatever they mean, and a zero.
  struct QueueName {
    /// Valid as long as the queue; nil stands for no name.
    let start: UnsafePointer<CChar>?
    /// The same if the queue is to free it.
    private let owned: UnsafeMutablePointer<CChar>?

    /// A name that the caller keeps for as long as the queue lives.
    init(keptElsewhere start: UnsafePointer<CChar>?) { self.init(start: start, owned: nil) }

    private init(start: UnsafePointer<CChar>?, owned: UnsafeMutablePointer<CChar>?) {
      self.start = start
      self.owned = owned
    }

    /// A name in memory from `malloc`, which the queue frees.
    init(keeping memory: UnsafeMutablePointer<CChar>?) { self.init(start: UnsafePointer(memory), owned: memory) }

    init(_ text: String) {
      let memory = UnsafeMutablePointer<CChar>.allocate(capacity: text.utf8.count + 1)
      var end = memory
      for byte in text.utf8 {
        end.initialize(to: CChar(bitPattern: byte))
        end += 1
      }
      end.initialize(to: 0)
      self.init(keeping: memory)
    }

    init(_ text: StaticString) {
      self.init(keptElsewhere: UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self))
    }

    /// For messages.
    var text: String { start.map { String(cString: $0) } ?? "" }

    func withText(_ body: (Tracepoint.Text) -> Void) {
      if let start { return body(start) }
      var end: CChar = 0
      body(&end)
    }

    /// The queue is going.
    func free() { owned?.deallocate() }
  }
#else
  /// A queue's name.
  struct QueueName {
    let text: String

    @inline(__always)
    init(_ text: String) { self.text = text }

    init(_ text: StaticString) { self.text = text.description }

    func withText(_ body: (Tracepoint.Text) -> Void) { text.withCString(body) }

    @inline(__always)
    func free() {}
  }
#endif
