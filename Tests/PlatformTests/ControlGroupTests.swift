// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("A control group's quota")
struct ControlGroupTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test(
    "E1: of version 2 is a quota and a period, rounded up to whole processors",
    arguments: [
      ("max 100000\n", nil), ("max", nil), ("100000 100000\n", 1), ("150000 100000\n", 2), ("200000 100000\n", 2),
      ("200001 100000\n", 3), ("1000 100000\n", 1), ("50000\n", 1), ("250000", 3), ("", nil), ("\n", nil),
      ("nonsense 100000\n", nil), ("100000 0\n", nil), ("0 100000\n", nil), ("-1 100000", nil),
      ("9223372036854775807 1", Int.max), ("99999999999999999999 1", nil),
    ] as [(String, Int?)])
  func versionTwo(contents: String, processors: Int?) {
    #expect(ControlGroup.parseQuota(bytes(contents)) == processors)
  }

  @Test(
    "E1: of version 1 is two files, and -1 is none",
    arguments: [
      ("-1\n", "100000\n", nil), ("50000\n", "100000\n", 1), ("400000\n", "100000\n", 4), ("400001\n", "100000\n", 5),
      ("", "100000", nil), ("100000", "", nil),
    ] as [(String, String, Int?)])
  func versionOne(quota: String, period: String, processors: Int?) {
    #expect(ControlGroup.parseQuota(quota: bytes(quota), period: bytes(period)) == processors)
  }

  static let both = """
    12:cpuset:/docker/set
    4:cpuacct,cpu:/docker/abc
    1:name=systemd:/docker/systemd
    0::/user.slice/session-1.scope

    """

  @Test("E1: belongs to the group that limits processor time")
  func group() {
    #expect(ControlGroup.group(of: .one, in: bytes(Self.both)).map(text) == "/docker/abc")
    #expect(ControlGroup.group(of: .two, in: bytes(Self.both)).map(text) == "/user.slice/session-1.scope")
    #expect(ControlGroup.group(of: .one, in: bytes("3:cpuset:/x\n0::/\n")) == nil)
    #expect(ControlGroup.group(of: .two, in: bytes("")) == nil)
    // A colon may be part of a path.
    #expect(ControlGroup.group(of: .two, in: bytes("0::/a:b\n")).map(text) == "/a:b")
  }

  static let mounts = """
    24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw
    31 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
    32 24 0:27 /docker/abc /mnt/with\\040space/cpu rw shared:10 master:1 - cgroup cgroup rw,cpu,cpuacct
    33 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
    broken line
    """

  @Test("E1: is found through the mounts")
  func mountTable() {
    let found = ControlGroup.parseMounts(bytes(Self.mounts))
    #expect(
      found == [
        ControlGroup.Mount(version: .two, root: bytes("/"), point: bytes("/sys/fs/cgroup")),
        ControlGroup.Mount(version: .one, root: bytes("/docker/abc"), point: bytes("/mnt/with space/cpu")),
      ])
  }

  @Test(
    "E1: may come from any ancestor that the mount shows",
    arguments: [
      ("/a/b", "/", ["/cg", "/cg/a", "/cg/a/b"]),
      ("/", "/", ["/cg"]),
      ("/docker/abc", "/docker/abc", ["/cg"]),
      ("/docker/abc/x", "/docker/abc", ["/cg", "/cg/x"]),
      ("/docker/abcd", "/docker/abc", ["/cg"]),
      ("/../../other", "/", ["/cg"]),
      ("/a", "/elsewhere", ["/cg"]),
    ])
  func directories(group: String, root: String, expected: [String]) {
    let mount = ControlGroup.Mount(version: .two, root: bytes(root), point: bytes("/cg"))
    #expect(ControlGroup.directories(of: bytes(group), under: mount).map(text) == expected)
  }

  @Test("E1: is the smallest of all that apply")
  func smallest() {
    func processors(_ files: [String: String], groups: String = Self.both) -> Int? {
      ControlGroup.processors(groups: bytes(groups), mounts: bytes(Self.mounts)) { path in
        files[text(path)].map(bytes)
      }
    }
    let v2 = "/sys/fs/cgroup/user.slice"
    let v1 = "/mnt/with space/cpu"
    #expect(processors([:]) == nil)
    #expect(processors([v2 + "/session-1.scope/cpu.max": "max 100000\n"]) == nil)
    #expect(processors([v2 + "/session-1.scope/cpu.max": "400000 100000\n"]) == 4)
    #expect(
      processors([v2 + "/session-1.scope/cpu.max": "400000 100000\n", v2 + "/cpu.max": "150000 100000\n"]) == 2)
    #expect(processors([v1 + "/cpu.cfs_quota_us": "300000\n", v1 + "/cpu.cfs_period_us": "100000\n"]) == 3)
    #expect(processors([v1 + "/cpu.cfs_quota_us": "300000\n"]) == nil)
    #expect(
      processors([
        v2 + "/cpu.max": "500000 100000", v1 + "/cpu.cfs_quota_us": "300000", v1 + "/cpu.cfs_period_us": "100000",
      ]) == 3)
    #expect(processors([v2 + "/cpu.max": "100000 100000"], groups: "") == nil)
  }
}
