// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Life {
  /// What a file has at first, and what is written over it.
  private static func byte(_ place: Int, _ seed: UInt8) -> UInt8 {
    UInt8(truncatingIfNeeded: place &* 31 &+ place >> 9) &+ seed
  }

  private static func bytes(_ range: Range<Int>, _ seed: UInt8) -> [UInt8] { range.map { byte($0, seed) } }

  /// A file with that content, under a name.
  private func makeFile(_ size: Int, _ seed: UInt8) -> (descriptor: Int32, name: String) {
    var template = Array("\(random.oneIn(2) ? "/tmp" : "/dev/shm")/gc-fuzz-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    precondition(descriptor >= 0, "mkstemp: \(errno)")
    let content = Self.bytes(0..<size, seed)
    precondition(Glibc.write(descriptor, content, size) == size)
    if random.oneIn(3) {
      // So that the page cache does not serve it.
      fsync(descriptor)
      posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
    }
    lseek(descriptor, 0, SEEK_SET)
    return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  private static func content(_ name: String) -> [UInt8] {
    let descriptor = Glibc.open(name, O_RDONLY | O_CLOEXEC)
    defer { Glibc.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4 << 20)
    return Array(bytes[..<max(0, Glibc.read(descriptor, &bytes, bytes.count))])
  }

  /// One to three channels of a file, by descriptor, by path, and from each other.
  private func channels(_ file: (descriptor: Int32, name: String), random isRandom: Bool, _ flags: Int32) -> [Member] {
    let byPath = random.oneIn(2)
    let count = 1 + random.below(3)
    let type: DispatchIO.StreamType = isRandom ? .random : .stream
    let family = Family([file.descriptor], members: byPath ? 1 : count)
    if byPath { family.leave(self) }
    var members: [Member] = []
    for _ in 0..<count {
      let other = members.last
      let isShared = other != nil && (byPath || random.oneIn(2))
      let member = Member(self, byPath ? nil : family, isByPath: byPath, kin: other) { queue, cleanup in
        if isShared, let other { return DispatchIO(type: type, io: other.io, queue: queue, cleanupHandler: cleanup) }
        return byPath
          ? DispatchIO(type: type, path: file.name, oflag: flags, mode: 0, queue: queue, cleanupHandler: cleanup)
          : DispatchIO(type: type, fileDescriptor: file.descriptor, queue: queue, cleanupHandler: cleanup)
      }
      member.setLimits()
      members.append(member)
    }
    tell("\(count) channels by \(byPath ? "path" : "descriptor"), \(file.name)")
    return members
  }

  /// Operations at offsets, each in a slot of its own.
  func randomFile() -> () -> Void {
    let (slot, slots) = (20_000, 40)
    let (old, new) = (UInt8(truncatingIfNeeded: random.next()), UInt8(truncatingIfNeeded: random.next() | 1))
    let file = makeFile(slot * slots, old)
    let members = channels(file, random: true, O_RDWR)
    let accepted = Guarded<[Range<Int>]>([])
    let touched = Guarded<Set<Int>>([])
    for index in 0..<slots where random.oneIn(2) {
      let member = members[random.below(members.count)]
      let start = slot * index
      let range = start..<start + random.below(slot)
      var errors: Set<Int32> = [ECANCELED]
      if random.oneIn(2) {
        touched.with { _ = $0.insert(index) }
        if isFilled { errors.insert(ENOSPC) }
        member.write(at: start, Self.bytes(range, old &+ new), on: queue, errors: errors) { count, _ in
          accepted.with { $0.append(start..<start + count) }
        }
      } else {
        let (place, life) = (Unprotected(start), self)
        member.read(at: start, range.count, on: queue, errors: errors) { data, done, error in
          for found in data {
            if found != Self.byte(place.value, old) { life.fail("another byte at \(place.value)") }
            place.value += 1
          }
          if done, error == 0, place.value != range.upperBound {
            life.fail("read to \(place.value), not to \(range.upperBound)")
          }
        }
      }
      if random.oneIn(8) { member.barrier() }
      if random.oneIn(10) { member.pause() }
      if random.oneIn(20) { member.close(stop: random.oneIn(2)) }
    }
    for member in members { member.close(stop: random.oneIn(4)) }
    return {
      let content = Self.content(file.name)
      for range in accepted.with({ $0 }) {
        for place in range where content[place] != Self.byte(place, old &+ new) {
          return self.fail("not written: \(place) of \(range)")
        }
      }
      let written = touched.with { $0 }
      for index in 0..<slots where !written.contains(index) {
        for place in slot * index..<slot * (index + 1) where content[place] != Self.byte(place, old) {
          return self.fail("written by nobody: \(place)")
        }
      }
      unlink(file.name)
    }
  }

  /// A file that is read, or appended to, in order.
  func streamFile() -> () -> Void {
    let (size, seed) = (random.below(300_000), UInt8(truncatingIfNeeded: random.next()))
    let file = makeFile(size, seed)
    let isAppending = random.oneIn(2)
    // The position is at the end in either case: what comes first is there already.
    if isAppending { lseek(file.descriptor, 0, SEEK_END) }
    let members = channels(file, random: false, isAppending ? O_WRONLY | O_APPEND : O_RDONLY)
    tell(isAppending ? "appended to" : "read")
    let places = DispatchQueue(label: "places")
    let (place, written) = (Unprotected(0), Guarded<[(bytes: [UInt8], count: Int)]>([]))
    let life = self
    // Until a path has been looked at, the operations wait in each channel by itself. So only one channel's have an order.
    let used = random.oneIn(2) ? [members[random.below(members.count)]] : members.filter { !$0.isByPath }
    for _ in 0..<1 + random.below(8) where !used.isEmpty {
      let member = used[random.below(used.count)]
      if isAppending {
        let other = UInt8(truncatingIfNeeded: random.next())
        let bytes = Self.bytes(0..<random.below(60_000), other)
        let index = written.with {
          $0.append((bytes, 0))
          return $0.count - 1
        }
        member.write(bytes, on: queue, errors: isFilled ? [ECANCELED, ENOSPC] : [ECANCELED]) { count, _ in
          written.with { $0[index].count = count }
        }
      } else {
        member.read(random.oneIn(4) ? .max : random.below(100_000), on: places, errors: [ECANCELED]) { data, _, _ in
          for found in data {
            if found != Self.byte(place.value, seed) { life.fail("another byte at \(place.value)") }
            place.value += 1
          }
        }
      }
      if members.count == 1, random.oneIn(5) { member.barrier() }
      if members.count == 1, random.oneIn(5) { member.pause() }
    }
    for member in members { member.close(stop: random.oneIn(4)) }
    let isStopped = members.contains { $0.isStopped }
    return {
      defer { unlink(file.name) }
      if !isAppending { return }
      let expected = Self.bytes(0..<size, seed) + written.with { $0.flatMap { $0.bytes[..<$0.count] } }
      let content = Self.content(file.name)
      // A write that was stopped on its way may have arrived all the same.
      if isStopped ? content.count < expected.count : content != expected {
        self.fail("\(content.count) bytes in the file, \(expected.count) written")
      }
    }
  }

  /// Devices that are full, empty, endless.
  func device() -> () -> Void {
    let names = ["/dev/full", "/dev/null", "/dev/zero"]
    let name = names[random.below(names.count)]
    let byPath = random.oneIn(2)
    let descriptor = byPath ? -1 : Glibc.open(name, O_RDWR | O_CLOEXEC)
    let family = byPath ? nil : Family([descriptor], members: 1)
    let type: DispatchIO.StreamType = random.oneIn(3) ? .random : .stream
    let member = Member(self, family) {
      byPath
        ? DispatchIO(type: type, path: name, oflag: O_RDWR, mode: 0, queue: $0, cleanupHandler: $1)
        : DispatchIO(type: type, fileDescriptor: descriptor, queue: $0, cleanupHandler: $1)
    }
    tell("\(name), \(byPath ? "path" : "descriptor")")
    member.setLimits()
    let life = self
    for _ in 0..<1 + random.below(10) {
      let count = random.below(50_000)
      if random.oneIn(2) {
        let isFull = name == "/dev/full" && count > 0
        member.write(
          [UInt8](repeating: 1, count: count), on: queue,
          errors: isFull || isFilled ? [ECANCELED, ENOSPC] : [ECANCELED]
        ) { written, error in
          if isFull, written != 0 || error == 0 { life.fail("\(written) bytes written, error \(error)") }
        }
      } else {
        let total = Counter()
        member.read(count, on: queue, errors: [ECANCELED]) { data, done, error in
          total.add(data.count)
          if data.contains(where: { $0 != 0 }) { life.fail("a byte that is not zero") }
          if done, error == 0, total.value != (name == "/dev/null" ? 0 : count) { life.fail("\(total.value) bytes") }
        }
      }
      if random.oneIn(4) { member.barrier() }
      if random.oneIn(4) { member.pause() }
    }
    member.close(stop: random.oneIn(3))
    return {}
  }

  /// What cannot be opened.
  func brokenPath() -> () -> Void {
    let cases: [(String, Int32, Int32, cleanup: Int32)] = [
      ("/proc/none/file", O_RDONLY, ENOENT, ENOENT), ("/proc/none/file", O_RDWR | O_CREAT, ENOENT, ENOENT),
      ("/tmp", O_RDONLY, EISDIR, EISDIR), ("/dev/null/file", O_RDONLY, ENOTDIR, ENOTDIR),
      ("/dev/null/file", O_RDWR | O_CREAT, ENOTDIR, 0), ("/dev/null", O_RDWR | O_CREAT | O_EXCL, EEXIST, 0),
    ]
    let (path, flags, error, cleanup) = cases[random.below(cases.count)]
    tell("\(path) \(flags)")
    let first = Member(self, error: cleanup) {
      DispatchIO(type: .stream, path: path, oflag: flags, mode: 0o600, queue: $0, cleanupHandler: $1)
    }
    var members = [first]
    if cleanup != 0, random.oneIn(2) {
      members.append(
        Member(self, error: cleanup) {
          DispatchIO(type: .random, io: first.io, queue: $0, cleanupHandler: $1)
        })
    }
    for _ in 0..<1 + random.below(8) {
      let member = members[random.below(members.count)]
      if random.oneIn(2) {
        member.read(1 + random.below(100), on: queue, errors: [error, ECANCELED]) { _, _, _ in }
      } else {
        member.write([1, 2, 3], on: queue, errors: [error, ECANCELED]) { _, _ in }
      }
      if random.oneIn(3) { member.barrier() }
      if random.oneIn(3) { member.pause() }
    }
    for member in members { member.close(stop: random.oneIn(3)) }
    return {}
  }
}
