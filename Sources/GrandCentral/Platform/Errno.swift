// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// An error number of the kernel, positive.
struct Errno: Error, Equatable, Sendable {
  let code: Int32

  init(code: Int32) {
    self.code = code
  }

  /// The system's text for it, with the number: "Bad file descriptor (9)".
  var description: String {
    String(cString: gc_strerror(code)) + " (" + String(code) + ")"
  }
}

extension Errno {
  /// EPERM
  static let notPermitted = Errno(code: 1)
  /// ENOENT
  static let noSuchFile = Errno(code: 2)
  /// ESRCH
  static let noSuchProcess = Errno(code: 3)
  /// EINTR
  static let interrupted = Errno(code: 4)
  /// EIO
  static let inputOutput = Errno(code: 5)
  /// EBADF
  static let badDescriptor = Errno(code: 9)
  /// EAGAIN, EWOULDBLOCK
  static let again = Errno(code: 11)
  /// ENOMEM
  static let noMemory = Errno(code: 12)
  /// EACCES
  static let accessDenied = Errno(code: 13)
  /// EEXIST
  static let exists = Errno(code: 17)
  /// EISDIR
  static let isDirectory = Errno(code: 21)
  /// EINVAL
  static let invalidArgument = Errno(code: 22)
  /// ENFILE: the system has no descriptor left.
  static let systemDescriptorsExhausted = Errno(code: 23)
  /// EMFILE: the process has no descriptor left.
  static let descriptorsExhausted = Errno(code: 24)
  /// ENOSPC
  static let noSpace = Errno(code: 28)
  /// EPIPE
  static let brokenPipe = Errno(code: 32)
  /// ENOSYS: the kernel does not know the call.
  static let notImplemented = Errno(code: 38)
  /// ENOBUFS
  static let noBuffers = Errno(code: 105)
  /// ETIMEDOUT
  static let timedOut = Errno(code: 110)
  /// ECANCELED
  static let canceled = Errno(code: 125)

  /// Whether the call failed for want of something that may be there later: descriptors, memory, threads, watches.
  var isShortage: Bool {
    switch self {
    case .descriptorsExhausted, .systemDescriptorsExhausted, .noMemory, .noSpace, .noBuffers, .again: true
    default: false
    }
  }

  /// Whether the kernel does not know the call, or the process may not make it: asking again will not help.
  var isRefusal: Bool { self == .notImplemented || self == .notPermitted || self == .accessDenied }

  /// The error in the result of a shim, which is `-errno` or not negative.
  @inline(__always)
  init?(result: Int) {
    if result >= 0 { return nil }
    self.init(code: Int32(truncatingIfNeeded: -result))
  }
}
