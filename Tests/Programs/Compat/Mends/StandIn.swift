// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: none; then none
// Says: stored property 'n' of 'Sendable'-conforming class 'Fake' is mutable

import GrandCentral
import Synchronization

#if MENDED
  final class Fake: DispatchSourceTimer, @unchecked Sendable {  // why: the property has a lock
    private let lock = Mutex(())
    private var n = 0
    func resume() { lock.withLock { _ in n += 1 } }
    func cancel() {}
  }
#else
  final class Fake: DispatchSourceTimer {
    private var n = 0
    func resume() { n += 1 }
    func cancel() {}
  }
#endif
