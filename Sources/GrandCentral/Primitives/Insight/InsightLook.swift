// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The process looks at its own region, as others do: no thread is stopped.
enum InsightLook {
  /// The entries of the threads that have one.
  @_optimize(size)
  static func threads() -> [InsightLayout.ThreadEntry] {
    guard let memory = InsightRegion.memory else { return [] }
    let entries = InsightRegion.threads(memory)
    var threads = [InsightLayout.ThreadEntry]()
    for index in 0..<InsightRegion.layout.threads {
      let entry = entries + index
      // pairs with: InsightThread.attach – publishes the entry
      if entry.tid.pointee.load(ordering: .acquiring) == 0 { continue }
      if let copy = InsightSequence(entry.sequence).whole({ InsightLayout.copy(entry) }), copy.tid != 0 {
        threads.append(copy)
      }
    }
    return threads
  }

  /// The entries of the objects that live, with their numbers.
  @_optimize(size)
  static func objects() -> [(number: Int, entry: InsightLayout.ObjectEntry)] {
    guard let memory = InsightRegion.memory else { return [] }
    // No thread adds entries meanwhile, or changes more of them than a sum.
    InsightRegion.lock.lock()
    defer { InsightRegion.lock.unlock() }
    let entries = InsightRegion.objects(memory)
    return (1..<InsightObjects.end).lazy.map { ($0, InsightLayout.copy(entries + $0)) }.filter { $0.1.ended == 0 }
  }
}
