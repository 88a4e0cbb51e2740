// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

#if TOOLCHAIN
  import Dispatch
#else
  import GrandCentral
#endif

extension Object {
  static let all = paths + descriptors + channels

  private static func path(
    _ name: String, _ path: String, _ flags: Int32, isExhausted: Bool = false
  ) -> [Object] {
    [
      Object(name: "path, \(name)", isRandom: false, way: .path(path, flags), isExhausted: isExhausted),
      Object(name: "path, \(name), random", isRandom: true, way: .path(path, flags), isExhausted: isExhausted),
    ]
  }

  private static func descriptor(_ name: String, _ open: @escaping @Sendable () -> Int32) -> [Object] {
    [
      Object(name: "descriptor, \(name)", isRandom: false, way: .descriptor(open)),
      Object(name: "descriptor, \(name), random", isRandom: true, way: .descriptor(open)),
    ]
  }

  private static func channel(_ name: String, _ make: @escaping @Sendable (DispatchQueue) -> DispatchIO?) -> [Object] {
    [
      Object(name: "channel, \(name)", isRandom: false, way: .channel(make)),
      Object(name: "channel, \(name), random", isRandom: true, way: .channel(make)),
    ]
  }

  private static let paths: [Object] =
    path("missing", "missing", O_RDONLY)
    + path("missing folder, created", "missing/file", O_RDWR | O_CREAT)
    + path("file without rights", "closed", O_RDWR)
    + path("created in a folder without rights", "locked-folder/new", O_RDWR | O_CREAT)
    + path("created in a folder of others", "guarded-folder/new", O_RDWR | O_CREAT)
    + path("created where a file is a folder", "file/new", O_RDWR | O_CREAT)
    + path("behind a folder without rights", "locked-folder/file", O_RDONLY)
    + path("folder, to read", "folder", O_RDONLY)
    + path("folder, to write", "folder", O_WRONLY)
    + path("folder, both", "folder", O_RDWR)
    + path("a file as a folder", "file/file", O_RDONLY)
    + path("loop", "loop", O_RDONLY)
    + path("link, not followed", "link", O_RDONLY | O_NOFOLLOW)
    + path("loop, not followed", "loop", O_RDONLY | O_NOFOLLOW)
    + path("exists", "shared", O_RDWR | O_CREAT | O_EXCL)
    + path("long name", String(repeating: "x", count: 300), O_RDONLY)
    + path("to read", "shared", O_RDONLY)
    + path("to write", "shared", O_WRONLY)
    + path("full device", "/dev/full", O_WRONLY)
    + path("fifo without reader", "fifo", O_WRONLY | O_NONBLOCK)
    + path("no descriptors left", "shared", O_RDWR, isExhausted: true)

  private static let descriptors: [Object] =
    descriptor("-1") { -1 }
    + descriptor("not open") { 900 }
    + descriptor("folder") { open("folder", O_RDONLY) }
    + descriptor("only a name") { open("file", 0o10000000) }
    + descriptor("to read") { open("shared", O_RDONLY) }
    + descriptor("to write") { open("shared", O_WRONLY) }
    + descriptor("full device") { open("/dev/full", O_RDWR) }
    + descriptor("end of a pipe to write, no reader") {
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0)
      close(ends[0])
      return ends[1]
    }
    + descriptor("end of a pipe to read, no writer") {
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0)
      close(ends[1])
      return ends[0]
    }

  private static let channels: [Object] =
    channel("of a path that is missing, unused") { ofPath("missing", $0) }
    + channel("of a path that is missing, failed") { queue in
      let other = ofPath("missing", queue)
      let ended = DispatchSemaphore(value: 0)
      other?.read(offset: 0, length: 1, queue: queue) { done, _, _ in if done { ended.signal() } }
      _ = ended.wait(timeout: .now() + 60)
      return other
    }
    + channel("of a folder's path, unused") { ofPath("folder", $0) }
    + channel("of a path, unused") { ofPath("shared", $0) }
    + channel("of a path, closed unused") { queue in
      let other = ofPath("shared", queue)
      other?.close()
      return other
    }
    + channel("of a descriptor, closed") { queue in
      let other = ofDescriptor(open("shared", O_RDONLY), queue)
      other.close()
      return other
    }
    + channel("of a folder's descriptor") { ofDescriptor(open("folder", O_RDONLY), $0) }
    + channel("of a descriptor to read") { ofDescriptor(open("shared", O_RDONLY), $0) }
    + channel("of -1") { ofDescriptor(-1, $0) }
    + channel("of a path that could not be opened") { queue in
      let other = DispatchIO(
        type: .stream, path: here + "/shared", oflag: O_RDWR | O_CREAT | O_EXCL, mode: 0, queue: queue,
        cleanupHandler: { _ in })
      let ended = DispatchSemaphore(value: 0)
      other?.read(offset: 0, length: 1, queue: queue) { done, _, _ in if done { ended.signal() } }
      _ = ended.wait(timeout: .now() + 60)
      return other
    }
    + channel("of a pipe") { queue in
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0)
      close(ends[1])
      return ofDescriptor(ends[0], queue)
    }

  private static func ofPath(_ name: String, _ queue: DispatchQueue) -> DispatchIO? {
    DispatchIO(
      type: .stream, path: here + "/" + name, oflag: O_RDONLY, mode: 0, queue: queue, cleanupHandler: { _ in })
  }

  private static func ofDescriptor(_ descriptor: Int32, _ queue: DispatchQueue) -> DispatchIO {
    DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue, cleanupHandler: { _ in })
  }
}
