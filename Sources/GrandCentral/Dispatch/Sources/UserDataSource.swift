// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A source whose events come from the program.
///
/// The data are merged first, and the event is made known afterwards. The delivery that takes the event finds the data; or it
/// finds none because an earlier delivery has taken them along, and calls no handler.
class UserDataSource: DispatchSource, DispatchSourceUserDataAdd, DispatchSourceUserDataOr,
  DispatchSourceUserDataReplace, @unchecked Sendable  // the word is atomic
{
  private let merged = Atomic<UInt>(0)

  override var kindName: String { "user data source" }

  final func add(data: UInt) {
    if data == 0 { return }
    tellChange()
    // pairs with: takeEvent – publishes what the program did before
    merged.wrappingAdd(data, ordering: .releasing)
    fire()
  }

  final func or(data: UInt) {
    if data == 0 { return }
    tellChange()
    // pairs with: takeEvent – publishes what the program did before
    merged.bitwiseOr(data, ordering: .releasing)
    fire()
  }

  final func replace(data: UInt) {
    tellChange()
    // pairs with: takeEvent – publishes what the program did before
    merged.store(data, ordering: .releasing)
    // What was pending is replaced by nothing.
    if data != 0 { fire() }
  }

  override func takeEvent() -> UInt? {
    // pairs with: add, or, replace – publishes what the program did before
    let data = merged.exchange(0, ordering: .acquiring)
    return data == 0 ? nil : data
  }
}
