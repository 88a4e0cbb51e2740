// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Foundation's run loop in virtual time: a timer an hour from now, and items of the main queue, which wake the loop before. Two
// threads count without a lock: one of them is lost. Repaired, the main thread counts.

import Foundation

final class Count: @unchecked Sendable {  // guarded by the run loop's thread, when repaired
  var value = 0
}

@main
enum Main {
  @MainActor
  static func main() {
    let begun = Date()
    let count = Count()
    for _ in 0..<2 {
      Thread.detachNewThread {
        #if REPAIRED
          DispatchQueue.main.async { count.value += 1 }
        #else
          let seen = count.value
          Thread.sleep(forTimeInterval: 0.001)
          count.value = seen + 1
        #endif
      }
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60) {
      DispatchQueue.main.async { if count.value != 2 { exit(1) } }
    }
    _ = Timer.scheduledTimer(withTimeInterval: 3600, repeats: false) { _ in
      let passed = Date().timeIntervalSince(begun)
      print("\(count.value) counted, an hour later")
      exit(passed >= 3600 && passed < 3610 ? 0 : 2)
    }
    RunLoop.main.run()
  }
}
