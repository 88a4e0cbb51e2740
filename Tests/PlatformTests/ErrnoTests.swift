// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentral

@Suite("An error number")
struct ErrnoTests {
  @Test("is the kernel's")
  func codes() {
    let pairs: [(Errno, Int32)] = [
      (.notPermitted, EPERM), (.noSuchFile, ENOENT), (.noSuchProcess, ESRCH), (.interrupted, EINTR),
      (.inputOutput, EIO), (.badDescriptor, EBADF), (.again, EAGAIN), (.noMemory, ENOMEM), (.accessDenied, EACCES),
      (.exists, EEXIST), (.isDirectory, EISDIR), (.invalidArgument, EINVAL), (.systemDescriptorsExhausted, ENFILE),
      (.descriptorsExhausted, EMFILE), (.noSpace, ENOSPC), (.brokenPipe, EPIPE), (.notImplemented, ENOSYS),
      (.timedOut, ETIMEDOUT), (.canceled, ECANCELED),
    ]
    for (error, code) in pairs { #expect(error.code == code) }
  }

  @Test("is read out of a shim's result")
  func result() {
    #expect(Errno(result: 0) == nil)
    #expect(Errno(result: 3) == nil)
    #expect(Errno(result: -9) == .badDescriptor)
  }

  @Test("describes itself")
  func text() {
    #expect(Errno.badDescriptor.description == "Bad file descriptor (9)")
    #expect(Errno(code: 9999).description == "unknown error (9999)")
  }

  @Test("E6: tells a full descriptor table from other failures")
  func exhaustion() {
    #expect(Errno.descriptorsExhausted.isShortage)
    #expect(Errno.systemDescriptorsExhausted.isShortage)
    #expect(!Errno.badDescriptor.isShortage)
  }
}
