// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why a process, or a file, cannot be looked into.
enum RegionFailure: Error, Equatable {
  case noSuchProcess(pid_t)
  case hasEnded(pid_t)
  /// The kernel does not let us: it belongs to another user, or protects itself.
  case notPermitted(pid_t)
  /// It has no region: no GrandCentral is in it, or what is in it has not been used.
  case noRegion(pid_t)
  /// It has a region, and has closed the descriptor of it.
  case closed(pid_t)
  /// It is making its region, and does not get on with it.
  case unfinished(pid_t)
  /// The layout is another one than the tool knows.
  case otherVersion(UInt32)
  /// It has the name of a region, and is none; the text says what is wrong with it.
  case damaged(String)
  /// The file is no core file of this kind of machine.
  case notCore(String)
  /// The core file has been written without the region.
  case notInCore(String)
  case system(String, code: Int32)

  var words: String {
    switch self {
    case .noSuchProcess(let process): "there is no process \(process)"
    case .hasEnded(let process): "process \(process) has ended"
    case .notPermitted(let process):
      "process \(process) belongs to another user, or protects itself: the kernel does not let us look into it"
    case .noRegion(let process):
      "process \(process) has nothing to look into: it does not use GrandCentral, or none of its threads has slept or waited in it yet"
    case .closed(let process):
      "process \(process) has closed the descriptor by which tools look into it (/memfd:grandcentral)"
    case .unfinished(let process):
      "process \(process) has begun to make what tools look into, and not finished: it may be stopped"
    case .otherVersion(let version):
      "the process shows layout \(version), and this tool reads layouts 1 to \(RegionReader.version): use the tool of "
        + "the library's release"
    case .damaged(let what): "what the process shows is damaged: \(what)"
    case .notCore(let path): "\(path) is not the core file of a 64-bit process"
    case .notInCore(let path):
      "\(path) has not the memory that tools look into: it was cut short, or bit 1 of /proc/PID/coredump_filter was off"
    case .system(let what, EMFILE): "\(what): the tool has no descriptor left (see ulimit -n)"
    case .system(let what, let code): "\(what): \(String(cString: strerror(code)))"
    }
  }

  /// The exit code of the commands that look into a process.
  var code: Int32 {
    switch self {
    case .noSuchProcess, .hasEnded: 2
    case .notPermitted: 3
    case .noRegion, .closed, .unfinished, .notInCore: 4
    case .otherVersion, .damaged, .notCore: 5
    case .system: 6
    }
  }

  /// What --help says about the codes.
  static let help = """
    2 if there is no such process, 3 if the kernel does not let us look into it, 4 if it has nothing to look into (it does \
    not use GrandCentral, has closed the descriptor, or is only making it), 5 if what it shows is of another version or damaged, 6 if the \
    system refuses something else
    """
}
