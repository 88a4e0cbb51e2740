// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !hasFeature(Embedded)
  import Synchronization

  /// The types of the Swift runtime that the library's own code uses, known before a process forks.
  ///
  /// The first use of a type takes locks of the runtime, which it has one of for all optionals, one for all arrays, and so on. A thread of
  /// the parent may hold one at that moment for whatever type of its own, and nobody lets go of it in the child. The second use takes none.
  /// So each fork uses them at its beginning, when nothing is held yet, and waits for a thread that holds such a lock (Fork.F3).
  ///
  /// What belongs here are the types behind the cache variables of the optimised library whose names end with `MD`
  /// (`nm -C`, `swift demangle`), but for those that only the insight's calls use.
  enum TypesAtFork {
    private static let areKnown = Atomic<Bool>(false)

    static func prepare() {
      // pairs with: the store below – publishes what the runtime knows
      if areKnown.load(ordering: .acquiring) { return }
      useThem()
      // pairs with: the load above – publishes what the runtime knows
      areKnown.store(true, ordering: .releasing)
    }

    /// An optimised build would leave all of it out.
    @_optimize(none)
    private static func useThem() {
      prepareRuntime()
      note((any Error).self)
      // Data, and the buffers of channels.
      note(DataObject.self)
      note(DataObject?.self)
      noteArray(of: DispatchData.self)
      // Channels.
      noteArray(of: IOGate.Entry?.self)
      noteArray(of: IOCleanup.self)
      noteArray(of: IOOrders.Entry.self)
      noteArray(of: Borrowed<IOFile>.self)
      noteArray(of: Borrowed<IOFile>?.self)
      // Sources.
      noteArray(of: DescriptorTable.Page?.self)
      noteArray(of: (watch: DescriptorWatch.Pointer, note: UInt).self)
      note((DispatchSource.ProcessEvent, String).self)
      // Waits that close a circle.
      noteArray(of: WaitGraph.Link.self)
      noteArray(of: WaitGraph.Blocker.self)
      noteArray(of: UnsafeMutablePointer<WaitRecord>.self)
      // What the engine reads of the system, and what it reports.
      noteArray(of: ControlGroup.Mount.self)
      noteArray(of: ArraySlice<UInt8>.self)
      noteArray(of: [UInt8].self)
      noteArray(of: UInt8.self)
      noteArray(of: Int32.self)
      noteArray(of: UInt.self)
      noteArray(of: Int?.self)
      noteArray(of: String.self)
      noteArray(of: (name: String, count: Int).self)
      #if !GRANDCENTRAL_DROPIN && (Tasks || !HAS_TRAITS)
        note(TaskPriority?.self)
      #endif
    }

    /// Has the runtime set up what it knows of arrays, and its table of conformances of generic types: the first thread that asks does
    /// that, under a "once" or a lock.
    @_optimize(none)
    private static func prepareRuntime() {
      let one: [UInt8] = [0]
      _ = one[..<one.count].count
    }

    @_optimize(none) @inline(never)
    private static func note(_: Any.Type) {}

    /// An array has a class for the elements that it stores.
    @_optimize(none) @inline(never)
    private static func noteArray<Element>(of _: Element.Type) {
      _ = [Element](unsafeUninitializedCapacity: 1) { _, count in count = 0 }
    }
  }
#endif
