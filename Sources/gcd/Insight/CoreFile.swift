// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// What a process has left in a core file: its region, its threads, and which file lay where.
///
/// The kernel writes memory that is shared and has no name in a file system, as the region is, unless `coredump_filter` says otherwise.
struct CoreFile {
  let path: String
  let process: pid_t
  /// The program's name, 15 bytes of it at most.
  let name: String
  /// The kernel's numbers of the threads that lived.
  let threads: Set<Int32>
  let files: [ProcessCode.Mapping]
  let regions: [RegionReader]
  /// The moment that the file shows, in nanoseconds of CLOCK_MONOTONIC.
  let moment: UInt64

  private static let coreType: UInt16 = 4

  init(_ path: String) throws(RegionFailure) {
    guard let file = MappedFile(path) else { throw .system(path, code: errno) }
    guard let tables = ElfTables(file), tables.type == Self.coreType else { throw .notCore(path) }
    let notes = CoreNotes(tables)
    guard let process = notes.process, process > 0 else { throw .notCore(path) }
    let memories = notes.files.filter { $0.path == RegionFinder.link }.map { Self.bytes($0, tables) }
    if memories.isEmpty { throw .noRegion(process) }
    // The library maps the first page of a region a second time: that alone is no region.
    var regions: [RegionReader] = []
    var failure = RegionFailure.notInCore(path)
    for bytes in memories.compactMap({ $0 }).sorted(by: { $0.count > $1.count }) {
      do throws(RegionFailure) {
        regions.append(try RegionReader(RegionMemory(bytes: bytes)))
      } catch {
        if regions.isEmpty { failure = error }
      }
    }
    if regions.isEmpty { throw failure }
    self.path = path
    self.process = process
    self.regions = regions
    name = notes.name
    threads = notes.threads
    files = notes.files
    moment = notes.moment ?? Self.moment(regions, written: file.changed)
  }

  /// What was mapped there; nil if the file does not have all of it.
  private static func bytes(_ mapping: ProcessCode.Mapping, _ tables: ElfTables) -> [UInt8]? {
    var bytes: [UInt8] = []
    for segment in tables.loadedSegments().sorted(by: { $0.address < $1.address })
    where segment.address == mapping.start &+ UInt64(bytes.count) && segment.address < mapping.end && segment.size > 0 {
      guard let part = tables.file.bytes(at: segment.offset, count: segment.size) else { return nil }
      bytes += part
    }
    return UInt64(bytes.count) >= mapping.end - mapping.start ? bytes : nil
  }

  /// The moment at which the file was written, if that can be: it is not that of a copy, and the machine has not been started
  /// since. Otherwise the last one that the region knows of, so what is told is how long something had waited at least.
  private static func moment(_ regions: [RegionReader], written: UInt64) -> UInt64 {
    var last: UInt64 = 0
    for region in regions {
      for thread in region.threads() { last = max(last, region.clock.nanoseconds(at: thread.since)) }
    }
    let (wall, uptime) = (Timestamp.wall(), RegionClock.now().uptime)
    let ago = wall > written ? wall - written : 0
    return ago < uptime && uptime - ago >= last ? uptime - ago : last
  }
}

/// What the notes of a core file say.
private struct CoreNotes {
  private(set) var process: pid_t?
  private(set) var name = ""
  private(set) var threads: Set<Int32> = []
  private(set) var files: [ProcessCode.Mapping] = []
  /// The library tells the moment in files of its own: that of the file may be a copy's.
  private(set) var moment: UInt64?

  private enum Kind {
    static let notes: UInt32 = 4
    static let threadStatus: UInt32 = 1
    static let processInfo: UInt32 = 3
    static let files: UInt32 = 0x4649_4c45
  }

  init(_ tables: ElfTables) {
    let file = tables.file
    for segment in tables.segments where segment.type == Kind.notes {
      var place = segment.offset
      // A size is added as it stands, and rounded up: the place moves on by the three numbers at least.
      while place &- segment.offset < segment.size, let nameSize: UInt32 = file.integer(at: place),
        let size: UInt32 = file.integer(at: place &+ 4), let kind: UInt32 = file.integer(at: place &+ 8)
      {
        let content = place &+ 12 &+ Self.padded(nameSize)
        if file.hasText("CORE\u{0}", at: place &+ 12) { add(kind, file, content, UInt64(size)) }
        if file.hasText("GrandCentral\u{0}", at: place &+ 12), kind == GC_INSIGHT_NOTE_MOMENT {
          moment = file.integer(at: content)
        }
        place = content &+ Self.padded(size)
      }
    }
  }

  private static func padded(_ size: UInt32) -> UInt64 { (UInt64(size) + 3) & ~3 }

  /// The places of the fields are those of 64-bit Linux on x86-64 and aarch64.
  private mutating func add(_ kind: UInt32, _ file: MappedFile, _ place: UInt64, _ size: UInt64) {
    switch kind {
    case Kind.threadStatus:
      if let thread: Int32 = file.integer(at: place &+ 32) { threads.insert(thread) }
    case Kind.processInfo:
      process = file.integer(at: place &+ 24)
      name = file.text(at: place &+ 40) ?? ""
    case Kind.files: addFiles(file, place, size)
    default: break
    }
  }

  /// A count, the size of a page, three numbers for each file, and then the paths.
  private mutating func addFiles(_ file: MappedFile, _ place: UInt64, _ size: UInt64) {
    guard let count: UInt64 = file.integer(at: place), let page: UInt64 = file.integer(at: place &+ 8),
      count <= size / 24
    else { return }
    var path = place &+ 16 &+ count * 24
    for index in 0..<count {
      let entry = place &+ 16 &+ index * 24
      guard let start: UInt64 = file.integer(at: entry), let end: UInt64 = file.integer(at: entry &+ 8),
        let offset: UInt64 = file.integer(at: entry &+ 16), let text = file.text(at: path),
        let length = file.textLength(at: path)
      else { return }
      if start < end { files.append(ProcessCode.Mapping(start: start, end: end, offset: offset &* page, path: text)) }
      path &+= length + 1
    }
  }
}
