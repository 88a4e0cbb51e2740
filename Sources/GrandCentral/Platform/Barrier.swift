// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A memory barrier that the kernel makes every running thread of this process pass.
enum Barrier {
  /// Must succeed once before `issue`. False where the kernel does not offer it.
  static func register() -> Bool { gc_membarrier_register() == 0 }

  static func issue() -> Bool { gc_membarrier() == 0 }
}
