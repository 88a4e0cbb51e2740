// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A descriptor that stands for one process, whatever becomes of its number: readable once the process has ended.
///
/// Known by its number here, because its user asks from several threads; `close` ends it.
enum PidFD {
  /// `.noSuchProcess` when there is none, or it has been reaped.
  static func open(_ process: Int32) -> Result<Int32, Errno> {
    let result = gc_pidfd_open(process)
    if let error = Errno(result: Int(result)) { return .failure(error) }
    return .success(result)
  }

  static func close(_ descriptor: Int32) { _ = gc_close(descriptor) }

  struct End {
    let wasKilled: Bool
    let dumpedCore: Bool
    /// The exit code, or the signal.
    let status: Int32

    fileprivate init(_ end: gc_process_end) {
      wasKilled = end.was_killed
      dumpedCore = end.dumped_core
      status = end.status
    }
  }

  /// How the process has ended, if it has and the kernel tells us; it is not reaped.
  static func end(_ descriptor: Int32) -> End? {
    var end = gc_process_end()
    if gc_pidfd_end(descriptor, &end) != 0 || !end.has_ended { return nil }
    return End(end)
  }

  /// What can be known of a process without a descriptor.
  enum Sight {
    case runs
    /// It has ended. The way in which is known of a child only.
    case ended(End?)
  }

  /// Looks at a process by its number; a child that has ended is not reaped.
  static func look(at process: Int32) -> Sight {
    var end = gc_process_end()
    let result = gc_process_end_of(process, &end)
    if Errno(result: Int(result)) == .noSuchProcess { return .ended(nil) }
    return result == 0 && end.has_ended ? .ended(End(end)) : .runs
  }
}
