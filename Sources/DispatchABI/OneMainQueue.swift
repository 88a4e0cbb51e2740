// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !hasFeature(Embedded)
  /// Stands where the package has the toolchain's main queue beside its own: here there is one, and it is ours.
  enum ForeignMainQueue {
    @inline(__always)
    static func adopt() {}

    @inline(__always)
    static func wake() {}

    @inline(__always)
    static var isCurrent: Bool { false }
  }
#endif
