// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Anything that a worker can run: a handle on one 64-byte node of raw memory.
///
/// | offset | bytes | field    | meaning                                                        |
/// |-------:|------:|----------|----------------------------------------------------------------|
/// |      0 |     8 | link     | next job of the list that holds this one                       |
/// |      8 |     8 | invoke   | what runs it; takes over the node                              |
/// |     16 |     4 | flags    | `Flags`                                                        |
/// |     20 |     2 | qos      | QoS to run at: class, relative priority                        |
/// |     22 |     1 | rank     | the band                                                       |
/// |     24 |    16 | body     | a closure, when `Flags.hasBody`; or a C function, its context  |
/// |     40 |     8 | owner    | whatever `invoke` needs, unretained or retained as it says     |
/// |     48 |     8 | extra    | likewise                                                       |
/// |     56 |     8 | inner    | what `invoke` is to run in the end, if something comes first   |
///
/// A job has exactly one owner at a time: the thread that makes it, one list, or the thread that runs it. The thread that
/// takes a job out of a list owns it. The list's own publication hands the ownership over, so plain loads and stores suffice
/// here.
struct Job: Equatable, @unchecked Sendable {  // a handle; the ownership rule above is what makes sharing safe
  let raw: UnsafeMutableRawPointer

  struct Flags: OptionSet, Sendable {
    let rawValue: UInt32
    /// A thread that waits: the node is a `WaiterNode` rather than a pooled one.
    static let waiter = Flags(rawValue: 1)
    /// Runs alone on a concurrent lane.
    static let barrier = Flags(rawValue: 2)
    /// Holds a closure.
    static let hasBody = Flags(rawValue: 4)
    /// The drainer looks at its lane again after this job: the lane's target has changed.
    static let retarget = Flags(rawValue: 8)
    /// Calls a C function: it lies where a closure would, and is not released.
    static let callsFunction = Flags(rawValue: 16)
    static let hasWords: Flags = [.hasBody, .callsFunction]
  }

  /// One word of a node: an address, an object's, or a number.
  typealias Word = UnsafeMutableRawPointer

  typealias Invoke = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// A closure in a struct keeps its own calling convention: no wrapper is allocated.
  struct Body {
    let run: () -> Void
  }

  @inline(__always)
  init(raw: Word) { self.raw = raw }

  /// The node's address.
  var bits: UInt { UInt(bitPattern: raw) }

  /// A job from this thread's magazine, without a body.
  @inline(__always)
  init(
    invoke: @escaping Invoke, flags: Flags = [], qos: UInt16 = 0, band: Band, owner: Word? = nil
  ) {
    // unsafe: a fresh node of 64 bytes, owned by this thread.
    raw = Magazine.take()
    self.invoke = invoke
    self.flags = flags
    self.qos = qos
    self.band = band
    self.owner = owner
    self.extra = nil
  }

  @inline(__always)
  var invoke: Invoke {
    get { raw.load(fromByteOffset: 8, as: Invoke.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 8, as: Invoke.self) }
  }

  @inline(__always)
  var flags: Flags {
    get { Flags(rawValue: raw.load(fromByteOffset: 16, as: UInt32.self)) }
    nonmutating set { raw.storeBytes(of: newValue.rawValue, toByteOffset: 16, as: UInt32.self) }
  }

  @inline(__always)
  var qos: UInt16 {
    get { raw.load(fromByteOffset: 20, as: UInt16.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 20, as: UInt16.self) }
  }

  @inline(__always)
  var band: Band {
    get { Band(rank: raw.load(fromByteOffset: 22, as: UInt8.self)) }
    nonmutating set { raw.storeBytes(of: newValue.rank, toByteOffset: 22, as: UInt8.self) }
  }

  @inline(__always)
  var owner: Word? {
    get { raw.load(fromByteOffset: 40, as: Word?.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 40, as: Word?.self) }
  }

  @inline(__always)
  var extra: Word? {
    get { raw.load(fromByteOffset: 48, as: Word?.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 48, as: Word?.self) }
  }

  @inline(__always)
  var inner: Invoke {
    get { raw.load(fromByteOffset: 56, as: Invoke.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 56, as: Invoke.self) }
  }

  /// The first word, for the thread that has the job while no list has it.
  @inline(__always)
  var link: Word? {
    get { raw.load(as: Word?.self) }
    nonmutating set { raw.storeBytes(of: newValue, as: Word?.self) }
  }

  /// Puts the closure into the node.
  @inline(__always)
  func setBody(_ body: consuming Body) {
    // unsafe: bytes 24..<40 are uninitialised until now; `takeBody` moves them out again exactly once.
    (raw + 24).assumingMemoryBound(to: Body.self).initialize(to: body)
    flags.insert(.hasBody)
  }

  /// The closure of a node as two words. The thread that took it owns it, and runs or releases it once.
  ///
  /// Moving the closure out as such costs a retain and a release around the call.
  struct TakenBody {
    fileprivate let function: UnsafeRawPointer
    fileprivate let context: UnsafeRawPointer?

    /// Calls the closure and releases it.
    @inline(__always)
    consuming func run() {
      BorrowedClosure(function: function, context: context)()
      release()
    }

    /// Releases the closure without calling it.
    @inline(__always)
    consuming func release() {
      // unsafe: a closure's context is a Swift object, and the node held one reference to it.
      if let context { Unmanaged<AnyObject>.fromOpaque(context).release() }
    }
  }

  /// What a job that `hasWords` calls, and with what: for records.
  var bodyFunction: UInt {
    // unsafe: a closure's first word is its function. So is a C function's, and its context is the second one.
    raw.load(fromByteOffset: 24, as: UInt.self)
  }

  var bodyContext: UInt { raw.load(fromByteOffset: 32, as: UInt.self) }

  /// Moves the closure out of the node.
  @inline(__always)
  func takeBody() -> TakenBody {
    // unsafe: `setBody` has initialised the bytes with the closure's two words; no code reads them afterwards.
    TakenBody(
      function: raw.load(fromByteOffset: 24, as: UnsafeRawPointer.self),
      context: raw.load(fromByteOffset: 32, as: UnsafeRawPointer?.self))
  }

  /// Gives the node back to this thread's magazine.
  @inline(__always)
  func recycle() { Magazine.give(raw) }

  /// Runs the job, at its QoS; the node belongs to the job's own function from here on.
  @inline(__always)
  func run() {
    gc_thread_self().pointee.qos = UInt32(qos)
    invoke(raw)
  }
}
