// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// Finds the regions of a process.
enum RegionFinder {
  /// What a region is called where a process's files and mappings are listed.
  static let link = "/memfd:grandcentral (deleted)"

  /// All regions of a process that can be read: it has one for each copy of the library that it has loaded.
  ///
  /// Those whose files are known already are left out; it is no failure if there are no others.
  ///
  /// A process may have descriptors of regions that are not its own: the pages that a tool has handed down are open in all children of
  /// a command, and a child of fork may not have got round to closing its parent's.
  ///
  /// - Parameter ofOthers: Whether regions of other processes count.
  static func regions(
    of process: pid_t, writable: Bool = false, except known: Set<UInt64> = [], ofOthers: Bool = false
  ) throws(RegionFailure) -> [RegionReader] {
    var files = try descriptors(of: process)
    var isClosed = false
    if files.isEmpty {
      // The mapping shows that there was a descriptor. The kernel still lets an administrator open the file.
      files = mappings(of: process).map { "/proc/\(process)/map_files/\($0)" }
      isClosed = !files.isEmpty
    }
    // 0 where the kernel does not say it.
    let own = ofOthers ? 0 : KernelReading.ownNumber(ofStatus: KernelReading.text("/proc/\(process)/status")).number
    var regions: [RegionReader] = []
    // In all: a process may have thousands of files that are called so, and never finish one.
    let limit = RegionClock.now().uptime + patience
    var failure: RegionFailure = isClosed ? .closed(process) : .noRegion(process)
    for file in files {
      if !known.isEmpty, let identity = identity(file), known.contains(identity) { continue }
      do throws(RegionFailure) {
        let region = try open(file, process, writable: writable, until: limit)
        if own != 0, region.process != own { continue }
        // Two descriptors or mappings of one region.
        if regions.contains(where: { $0.memory.identity == region.memory.identity }) { continue }
        regions.append(region)
      } catch {
        if !isClosed { failure = error }
      }
    }
    if regions.isEmpty, known.isEmpty { throw failure }
    return regions
  }

  /// How long a process that runs may take to make its region.
  private static let patience: UInt64 = 200_000_000

  /// The region of a file; waits a moment for one that is being made.
  static func open(
    _ file: String, _ process: pid_t, writable: Bool, until limit: UInt64 = RegionClock.now().uptime + patience
  ) throws(RegionFailure) -> RegionReader {
    while true {
      do throws(RegionFailure) { return try look(file, process, writable) } catch {
        guard error == .unfinished(process), RegionClock.now().uptime < limit else { throw error }
        usleep(1000)
      }
    }
  }

  private static func look(_ file: String, _ process: pid_t, _ writable: Bool) throws(RegionFailure) -> RegionReader {
    // It may be anything that is called so, and a pipe would be waited for.
    let descriptor = Glibc.open(file, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT, ESRCH: throw .hasEnded(process)
      case EACCES, EPERM: throw .notPermitted(process)
      default: throw .system(file, code: errno)
      }
    }
    defer { close(descriptor) }
    // The head comes last, and its magic number at the end.
    var head = gc_insight_head()
    let length = withUnsafeMutableBytes(of: &head) { pread(descriptor, $0.baseAddress, $0.count, 0) }
    let isOffer = head.magic == UInt64(GC_INSIGHT_OFFER)
    if length >= 0, length == 0 || head.magic == 0 || isOffer {
      // A page that a tool has handed down, and that no process has taken.
      if isOffer, head.pid == 0 { throw .noRegion(process) }
      throw .unfinished(process)
    }
    return try RegionReader(RegionMemory(descriptor: descriptor, writable: writable))
  }

  /// The descriptors whose file is called like a region, as they are called in /proc.
  private static func descriptors(of process: pid_t) throws(RegionFailure) -> [String] {
    if process <= 0 { throw .noSuchProcess(process) }
    if access("/proc/\(process)", F_OK) != 0 { throw .noSuchProcess(process) }
    let living = ProcessFile.folder(process)
    if ProcessFile.isOfZombie(living) { throw .hasEnded(process) }
    let folder = living + "/fd"
    guard let stream = opendir(folder) else {
      switch errno {
      case ENOENT, ESRCH: throw .noSuchProcess(process)
      case EACCES, EPERM: throw .notPermitted(process)
      default: throw .system(folder, code: errno)
      }
    }
    defer { closedir(stream) }
    var found: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard name.first != "." else { continue }
      if target(of: folder + "/" + name) == link { found.append(folder + "/" + name) }
    }
    return found
  }

  /// The address ranges of mapped regions, as they are called in /proc.
  private static func mappings(of process: pid_t) -> [String] {
    ProcessFile.lines(ProcessFile.folder(process) + "/maps").filter { $0.hasSuffix(link) }.compactMap { line in
      line.split(separator: " ").first.map(String.init)
    }
  }

  private static func identity(_ file: String) -> UInt64? {
    var status = stat()
    return stat(file, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  private static func target(of path: String) -> String? {
    // unsafe: a buffer that is not empty has a base address.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      let length = readlink(path, buffer.baseAddress!, buffer.count)
      guard length > 0 else { return nil }
      return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}

/// Files of the kernel's: they have no size, and their contents end where reading ends.
enum ProcessFile {
  /// Where the kernel shows what all threads of a process have. Of a first thread that has ended it shows nothing: then it is where
  /// another thread's lies.
  static func folder(_ process: pid_t) -> String {
    let first = "/proc/\(process)"
    guard isOfZombie(first) else { return first }
    return KernelReading.threads(process).map { "\(first)/task/\($0)" }.first { !isOfZombie($0) } ?? first
  }

  /// Whether the thread of this folder has ended, which only a file that can be read says.
  static func isOfZombie(_ folder: String) -> Bool {
    guard let state = text(folder + "/stat").flatMap({ KernelReading.state(ofStat: $0) }) else { return false }
    return state == "Z" || state == "X"
  }

  /// A limit above the size of any process's maps.
  private static let largest = 64 << 20

  static func bytes(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while bytes.count < largest {
      let part = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
        count = max(0, read(file, buffer.baseAddress, buffer.count))
      }
      if part.isEmpty { break }
      bytes += part
    }
    return bytes
  }

  static func text(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

  /// Exact text: paths are any bytes.
  static func lines(_ path: String) -> [Substring] {
    bytes(path).map { ExactText.text($0).split(separator: "\n") } ?? []
  }
}
