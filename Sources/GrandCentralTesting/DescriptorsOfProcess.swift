// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import Glibc

  /// The descriptors that the process has open, as the kernel tells them.
  struct DescriptorsOfProcess {
    /// What each one is: "pipe:[3]", "socket:[4]", a path.
    let targets: [Int32: String]

    init() {
      var targets: [Int32: String] = [:]
      for name in Self.names(in: "/proc/self/fd") {
        if let descriptor = Int32(name) { targets[descriptor] = Self.target("/proc/self/fd/" + name) }
      }
      self.targets = targets
    }

    /// Whether only the process makes it ready: all ends of a pipe, or of a pair of sockets, are here, and no other process has one.
    ///
    /// Of a pair it is not known which sockets the ends are: the process has made both, and has no child that could have one. An event counter
    /// is taken for inside. What this process may not look into is taken for one that has nothing of it.
    func isInside(_ descriptor: Int32) -> Bool {
      guard let target = targets[descriptor] else { return false }
      if target == "anon_inode:[eventfd]" { return true }
      if target.hasPrefix("socket:") { return Self.isOwnPair(descriptor) && !Self.hasChild }
      return target.hasPrefix("pipe:") && hasBothEnds(descriptor, target) && !Self.isElsewhere(target)
    }

    private func hasBothEnds(_ descriptor: Int32, _ target: String) -> Bool {
      let mode = Self.mode(descriptor)
      return mode == O_RDWR || targets.contains { $0.value == target && Self.mode($0.key) != mode }
    }

    private static func mode(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_GETFL) & O_ACCMODE }

    /// What the kernel calls SO_PEERCRED and SO_ACCEPTCONN.
    private static let (peerCredentials, isListening): (Int32, Int32) = (17, 30)

    /// Whether this process has made the socket's peer. Others may connect to one that listens.
    private static func isOwnPair(_ descriptor: Int32) -> Bool {
      // A process, a user, and a group.
      var peer: [Int32] = [0, 0, 0]
      var (length, listens, size) = (socklen_t(12), Int32(1), socklen_t(4))
      return getsockopt(descriptor, SOL_SOCKET, peerCredentials, &peer, &length) == 0 && peer[0] == getpid()
        && getsockopt(descriptor, SOL_SOCKET, isListening, &listens, &size) == 0 && listens == 0
    }

    private static var hasChild: Bool {
      var information = siginfo_t()
      return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0
    }

    private static func isElsewhere(_ target: String) -> Bool {
      let own = Self.target("/proc/self")
      return names(in: "/proc").contains { process in
        if Int32(process) == nil || process == own { return false }
        let folder = "/proc/" + process + "/fd"
        return names(in: folder).contains { Self.target(folder + "/" + $0) == target }
      }
    }

    /// Where the link leads; nil if there is none.
    private static func target(_ link: String) -> String? {
      let bytes = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
        count = buffer.withMemoryRebound(to: CChar.self) { max(0, readlink(link, $0.baseAddress!, $0.count)) }
      }
      return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func names(in path: String) -> [String] {
      guard let folder = opendir(path) else { return [] }
      defer { closedir(folder) }
      var names: [String] = []
      while let entry = readdir(folder) {
        names.append(
          withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
      }
      return names
    }
  }
#endif
