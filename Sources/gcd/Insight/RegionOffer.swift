// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// The pages for regions that the tool passes to the command that it starts: one for the first program that uses the
/// library, and one for each program that this one becomes by `exec`. Even if the command ends soon, the tool has what
/// the command has written.
final class RegionOffer {
  /// In the order in which they are taken.
  private let descriptors: [Int32]
  /// How many have been taken, and given out here.
  private var taken = 0

  /// A program that becomes more others than that is looked for as any process is.
  private static let most = 4
  /// Where there may be fewer descriptors than that, one page is handed down: the tool and the command need the others.
  private static let few = 64

  /// Nil where the kernel refuses it. Then the tool looks for the command's region as for that of any process.
  init?() {
    var descriptors: [Int32] = []
    // A larger file than the limit allows would be a signal, which ends the tool.
    guard Self.limit(RLIMIT_FSIZE) >= GC_INSIGHT_PAGE else { return nil }
    let most = Self.descriptorLimit < Self.few ? 1 : Self.most
    while descriptors.count < most {
      guard let made = Self.page(before: descriptors.first ?? 0) else { break }
      descriptors.insert(made, at: 0)
    }
    self.descriptors = descriptors
    if descriptors.isEmpty { return nil }
  }

  /// A page before the one with that descriptor; 0: there is none. Nil where the kernel refuses it. A command that the tool
  /// starts has it only if the tool says so.
  private static func page(before next: Int32) -> Int32? {
    var head = gc_insight_head()
    head.magic = UInt64(GC_INSIGHT_OFFER)
    head.unlisted = UInt32(next)
    let made = gc_insight_descriptor()
    if made < 0 { return nil }
    guard ftruncate(made, off_t(GC_INSIGHT_PAGE)) == 0, pwrite(made, &head, MemoryLayout<gc_insight_head>.size, 0) > 0
    else {
      close(made)
      return nil
    }
    return made
  }

  /// How many descriptors the tool may have, and the command that it starts.
  private static var descriptorLimit: UInt64 { limit(RLIMIT_NOFILE) }

  private static func limit(_ resource: __rlimit_resource) -> UInt64 {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 ? UInt64(limit.rlim_cur) : .max
  }

  /// Why there may be no region: what the tool says beside that there is none.
  static var hint: String {
    let (descriptors, size) = (descriptorLimit, limit(RLIMIT_FSIZE))
    if descriptors < few { return "; or no descriptor was left for what tools look into (ulimit -n is \(descriptors))" }
    return size != .max ? "; or what tools look into is larger than files may be (\(size) bytes, ulimit -f)" : ""
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  /// What tells the command of it.
  var variable: String { GC_INSIGHT_OFFER_VARIABLE + "=\(descriptors[0])" }

  /// Calls `start`, which starts a process that has the pages as well.
  func handDown<Result>(_ start: () -> Result) -> Result {
    for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, 0) }
    defer { for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) } }
    return start()
  }

  /// The next region, once a program has made one of a page.
  func next() -> RegionReader? {
    guard taken < descriptors.count else { return nil }
    var magic: UInt64 = 0
    let place = MemoryLayout<gc_insight_head>.offset(of: \.magic) ?? 0
    guard pread(descriptors[taken], &magic, 8, off_t(place)) == 8, magic == UInt64(GC_INSIGHT_MAGIC),
      let region = try? RegionReader(RegionMemory(descriptor: descriptors[taken], writable: true))
    else { return nil }
    taken += 1
    return region
  }
}
