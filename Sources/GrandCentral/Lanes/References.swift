// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// An object in a word, for the nodes of lists and for atomics. The type says whether the word counts: a reference that only
// borrows an object cannot give it back, and one that owns the object is used up by giving it back.

/// An object that something else keeps alive for as long as this is used. Nothing is counted.
@frozen
@usableFromInline
struct Borrowed<Object: AnyObject>: Equatable, @unchecked Sendable {  // an address: its user says why
  @usableFromInline let reference: Unmanaged<Object>

  @inlinable
  @inline(__always)
  init(_ object: Object) { reference = Unmanaged.passUnretained(object) }

  /// The object that `word` was made of.
  @inlinable
  @inline(__always)
  init(word: UnsafeRawPointer) { reference = Unmanaged.fromOpaque(word) }

  /// The object in one word. Two references to one object have the same.
  @inlinable
  @inline(__always)
  var word: UnsafeMutableRawPointer { reference.toOpaque() }

  /// The object at an address that is kept as a number; nil for 0.
  @inline(__always)
  init?(bits: UInt) {
    guard let word = UnsafeRawPointer(bitPattern: bits) else { return nil }
    self.init(word: word)
  }

  @inline(__always)
  var bits: UInt { UInt(bitPattern: word) }

  @inlinable
  @inline(__always)
  func use<Result>(_ body: (Object) -> Result) -> Result {
    // unsafe: the code that has made this reference keeps the object.
    reference._withUnsafeGuaranteedRef(body)
  }

  /// Counts one reference more, for a word that this is put into.
  @inline(__always)
  func keep() { _ = reference.retain() }

  /// Gives back the count that the word stood for, which this was read from.
  @inline(__always)
  func giveBack() { Owned<Object>(word: word).release() }

  /// The object, counted.
  @inlinable
  @inline(__always)
  var object: Object { reference.takeUnretainedValue() }

  @inlinable
  @inline(__always)
  static func == (a: Borrowed, b: Borrowed) -> Bool { a.word == b.word }

  @inlinable
  @inline(__always)
  static func == (a: Borrowed, b: Object) -> Bool { a == Borrowed(b) }
}

/// A counted reference to an object, given back once: by `release`, `take`, `give` or `intoWord`.
struct Owned<Object: AnyObject>: ~Copyable, @unchecked Sendable {  // a pointer, as `Borrowed`
  private let reference: Unmanaged<Object>

  /// Counts one reference more.
  @inline(__always)
  init(_ object: Object) { reference = Unmanaged.passRetained(object) }

  /// The reference that `intoWord` has made a word of.
  @inline(__always)
  init(word: UnsafeRawPointer) { reference = Unmanaged.fromOpaque(word) }

  /// As `init(word:)`, where the word is kept as a number, which is not 0.
  @inline(__always)
  init(bits: UInt) { reference = Borrowed(bits: bits).unsafelyUnwrapped.reference }

  /// The reference in one word, which owns it from now on.
  @inline(__always)
  consuming func intoWord() -> UnsafeMutableRawPointer { reference.toOpaque() }

  /// The reference, owned from now on by the word that it is put into.
  @inline(__always)
  consuming func give() -> Borrowed<Object> { Borrowed(word: reference.toOpaque()) }

  @inline(__always)
  var borrowed: Borrowed<Object> { Borrowed(word: reference.toOpaque()) }

  @inline(__always)
  borrowing func use<Result>(_ body: (Object) -> Result) -> Result {
    reference._withUnsafeGuaranteedRef(body)
  }

  @inline(__always)
  consuming func release() { reference.release() }

  /// The object; the count that this reference stood for is the caller's.
  @inline(__always)
  consuming func take() -> Object { reference.takeRetainedValue() }
}

extension Lane {
  /// What a job, a context or another lane holds of this one.
  @inline(__always)
  final var reference: Borrowed<Lane> { Borrowed(self) }
}

extension Engine {
  /// The process's engine, borrowed.
  @inline(__always)
  static var current: Engine {
    _read { yield shared.pointee }
  }
}

extension Job {
  /// What `extra` holds, where it is a number.
  @inline(__always)
  var number: UInt {
    get { UInt(bitPattern: extra) }
    nonmutating set { extra = .init(bitPattern: newValue) }
  }
}
