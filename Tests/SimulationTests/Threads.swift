// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

private final class Body {
  let run: () -> Void
  init(_ run: @escaping () -> Void) { self.run = run }
}

/// Starts a thread of the program's own.
func startThread(_ body: @escaping () -> Void) {
  var thread = pthread_t()
  let error = pthread_create(
    &thread, nil,
    { raw in
      Unmanaged<Body>.fromOpaque(raw!).takeRetainedValue().run()
      return nil
    }, Unmanaged.passRetained(Body(body)).toOpaque())
  precondition(error == 0)
  pthread_detach(thread)
}

/// What one thread tells others, in the real world.
final class Flag: Sendable {
  private let word = Atomic<Bool>(false)
  var isUp: Bool { word.load(ordering: .acquiring) }
  func raise() { word.store(true, ordering: .releasing) }
}

/// Lets other threads of the process go on.
func sleepInReality() { usleep(1_000) }
