// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Objects that live as long as the process and are not counted.
///
/// Every processor that counts references to a shared object takes the object's line away from the others. An
/// object that the whole process uses, and that is never freed, needs no count: the compiler gives constant objects a
/// count that retain and release leave alone, and the same count works for any object.
enum Immortal {
  /// What the compiler puts into constant objects.
  #if hasFeature(Embedded)
    private static let count = UInt.max
  #else
    private static let count: UInt = 0x8000_0004_FFFF_FFFF
  #endif

  /// Ends the counting for `object`, which no other code knows yet, if this runtime works as expected; else does nothing
  /// but keep it alive.
  ///
  /// - Returns: whether the counting has ended.
  @discardableResult
  static func grant<T: AnyObject>(_ object: T) -> Bool {
    let reference = Unmanaged.passRetained(object)
    // unsafe: an object begins with its type and its count, and no other thread has it.
    let word = (reference.toOpaque() + 8).assumingMemoryBound(to: UInt.self)
    let mortal = word.pointee
    word.pointee = count
    // A runtime that counts differently changes the word now.
    _ = reference.retain()
    if word.pointee == count { return true }
    word.pointee = mortal
    return false
  }
}
