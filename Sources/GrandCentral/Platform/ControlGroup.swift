// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How much processor time the control groups that the process is in allow it.
///
/// Everything is a function over the contents of files.
enum ControlGroup {
  typealias Bytes = Text.Bytes

  /// The two interfaces of the kernel; they may be mounted side by side.
  enum Version: Equatable, Sendable {
    case one
    case two
  }

  /// Where a hierarchy is mounted, and which of its groups is at the top there.
  struct Mount: Equatable, Sendable {
    let version: Version
    let root: [UInt8]
    let point: [UInt8]
  }

  /// The number of processors that the quotas allow, rounded up; nil without a quota.
  ///
  /// The group of the process and all its ancestors may have a quota each: the smallest counts.
  /// - Parameters:
  ///   - groups: `/proc/self/cgroup`
  ///   - mounts: `/proc/self/mountinfo`
  ///   - read: The contents of a file, or nil.
  @_optimize(size)
  static func processors(groups: [UInt8], mounts: [UInt8], read: ([UInt8]) -> [UInt8]?) -> Int? {
    var smallest: Int?
    for mount in parseMounts(mounts) {
      guard let group = group(of: mount.version, in: groups) else { continue }
      for directory in directories(of: group, under: mount) {
        guard let quota = quota(in: directory, mount.version, read) else { continue }
        smallest = min(smallest ?? .max, quota)
      }
    }
    return smallest
  }

  /// The path of the group of the process in the hierarchy that limits processor time.
  ///
  /// Lines are `number:controllers:path`; version 2 has number 0 and no controllers.
  @_optimize(size)
  static func group(of version: Version, in groups: [UInt8]) -> [UInt8]? {
    for line in Text.lines(groups[...]) {
      let fields = Text.parts(line, colon, most: 3, keepsEmpty: true)
      guard fields.count == 3 else { continue }
      let matches =
        switch version {
        case .one: list(fields[1], contains: "cpu")
        case .two: Text.equal(fields[0], "0") && fields[1].isEmpty
        }
      if matches { return Array(fields[2]) }
    }
    return nil
  }

  /// The mounts of version 2 and of the `cpu` controller of version 1.
  ///
  /// Lines are `id parent device root point options [optional ...] - type source super-options`.
  @_optimize(size)
  static func parseMounts(_ mounts: [UInt8]) -> [Mount] {
    var result = [Mount]()
    for line in Text.lines(mounts[...]) {
      let fields = Text.words(line)
      guard fields.count >= 9, let dash = fields[6...].firstIndex(where: { Text.equal($0, "-") }) else { continue }
      let tail = fields[(dash + 1)...]
      guard let type = tail.first else { continue }
      let version: Version
      if Text.equal(type, "cgroup2") {
        version = .two
      } else if Text.equal(type, "cgroup"), tail.count >= 3, list(tail[dash + 3], contains: "cpu") {
        version = .one
      } else {
        continue
      }
      result.append(Mount(version: version, root: unescape(fields[3]), point: unescape(fields[4])))
    }
    return result
  }

  /// The directories of a group and of its ancestors, as far as the mount shows them.
  @_optimize(size)
  static func directories(of group: [UInt8], under mount: Mount) -> [[UInt8]] {
    let groupNames = Text.parts(group[...], slash)
    let rootNames = Text.parts(mount.root[...], slash)
    var names = ArraySlice<Bytes>()
    // A group outside of what is mounted here is shown as such (`/../x`), or has another root: then all that can be
    // read is the mount's own top.
    let isInside = groupNames.starts(with: rootNames, by: { Text.equal($0, $1) })
    if isInside, !groupNames.contains(where: { Text.equal($0, "..") }) {
      names = groupNames[rootNames.count...]
    }
    var directory = mount.point
    if directory.last == slash { directory.removeLast() }
    var result = [directory]
    for name in names {
      directory.append(slash)
      directory.append(contentsOf: name)
      result.append(directory)
    }
    return result
  }

  @_optimize(size)
  private static func quota(in directory: [UInt8], _ version: Version, _ read: ([UInt8]) -> [UInt8]?) -> Int? {
    switch version {
    case .two:
      guard let text = read(directory + "/cpu.max".utf8) else { return nil }
      return parseQuota(text)
    case .one:
      guard let quota = read(directory + "/cpu.cfs_quota_us".utf8) else { return nil }
      guard let period = read(directory + "/cpu.cfs_period_us".utf8) else { return nil }
      return parseQuota(quota: quota, period: period)
    }
  }

  /// Processors in the contents of `cpu.max`, "quota period" or "max period"; nil when there is no limit.
  @_optimize(size)
  static func parseQuota(_ text: [UInt8]) -> Int? {
    let fields = Text.lines(text[...]).first.map { Text.words($0) } ?? []
    guard let quota = fields.first else { return nil }
    // The kernel's default period, should it be left out.
    return parseQuota(quota: Array(quota), period: fields.count > 1 ? Array(fields[1]) : Array("100000".utf8))
  }

  /// Processors in the contents of version 1's two files; a quota of -1 is no limit.
  @_optimize(size)
  static func parseQuota(quota: [UInt8], period: [UInt8]) -> Int? {
    guard let quota = Text.number(quota[...]), let period = Text.number(period[...]), quota > 0, period > 0
    else { return nil }
    return (quota - 1) / period + 1
  }

  /// `mountinfo` writes space, tab, line break and backslash as a backslash and three octal digits.
  @_optimize(size)
  private static func unescape(_ field: Bytes) -> [UInt8] {
    var result = [UInt8]()
    var rest = field
    while let byte = rest.popFirst() {
      let code = rest.prefix(3)
      guard byte == backslash, code.count == 3, code.allSatisfy({ $0 >= 0x30 && $0 <= 0x37 }) else {
        result.append(byte)
        continue
      }
      result.append(code.reduce(0) { $0 &* 8 &+ ($1 &- 0x30) })
      rest.removeFirst(3)
    }
    return result
  }

  @_optimize(size)
  private static func list(_ field: Bytes, contains name: StaticString) -> Bool {
    Text.parts(field, comma).contains { Text.equal($0, name) }
  }

  private static let colon = UInt8(ascii: ":")
  private static let comma = UInt8(ascii: ",")
  private static let slash = UInt8(ascii: "/")
  private static let backslash = UInt8(ascii: "\\")
}
