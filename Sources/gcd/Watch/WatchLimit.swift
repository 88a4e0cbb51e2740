// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// How much can be watched.
struct WatchLimit {
  let objects: Int
  /// The soft limit of descriptors as it was, if it has been raised.
  private(set) var formerDescriptors: Int?

  /// What the tool itself needs.
  private static let ownDescriptors = 64

  /// `wanted`, or what the process's descriptors and the kernel's watches allow. Raises the soft limit of descriptors if
  /// need be.
  init(raisedTo wanted: Int) {
    let needed = rlim_t(wanted + Self.ownDescriptors)
    var descriptors = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 else {
      objects = wanted
      return
    }
    if descriptors.rlim_cur < needed {
      let before = descriptors.rlim_cur
      descriptors.rlim_cur = min(needed, descriptors.rlim_max)
      if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0 {
        formerDescriptors = Int(clamping: before)
      } else {
        descriptors.rlim_cur = before
      }
    }
    let open = Int(clamping: descriptors.rlim_cur)
    // Others of the same user watch files, too.
    objects = max(1, min(wanted, open - Self.ownDescriptors, (Self.kernelWatches ?? 2 * wanted) / 2))
  }

  private static var kernelWatches: Int? {
    let file = open("/proc/sys/fs/inotify/max_user_watches", O_RDONLY | O_CLOEXEC)
    if file < 0 { return nil }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return Int(String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self))
  }
}
