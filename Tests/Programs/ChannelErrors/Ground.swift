// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The folder that the cases happen in, and the processes that they run in.
struct Ground {
  private let folder: String

  /// Makes the folder, and what the cases want to find there.
  init() {
    var template = Array("/tmp/gc-channel-errors-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "mkdtemp: \(errno)")
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(folder, 0o755)
    precondition(chdir(folder) == 0)
    for name in ["file", "shared", "closed"] { Self.fill(name) }
    chmod("shared", 0o666)
    chmod("closed", 0)
    mkdir("folder", 0o755)
    mkdir("open-folder", 0o777)
    chmod("open-folder", 0o777)
    mkdir("guarded-folder", 0o555)
    mkdir("locked-folder", 0)
    chmod("locked-folder", 0)
    symlink("loop", "loop")
    symlink("file", "link")
    mkfifo("fifo", 0o666)
    chmod("fifo", 0o666)
  }

  private static func fill(_ name: String) {
    let descriptor = open(name, O_WRONLY | O_CREAT, 0o644)
    precondition(write(descriptor, "0123456789", 10) == 10)
    close(descriptor)
  }

  func remove() {
    chmod("locked-folder", 0o755)
    Self.tidy()
    for name in ["file", "shared", "closed", "loop", "link", "fifo"] { unlink(name) }
    for name in ["folder", "open-folder", "guarded-folder", "locked-folder"] { rmdir(name) }
    rmdir(folder)
  }

  /// Runs all cases in a process of its own, whose output goes where ours does; whether that ended well.
  func run(as user: String) -> Bool {
    var arguments: [UnsafeMutablePointer<CChar>?] = ["channel-errors", user].map { $0.withCString { strdup($0) } }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    var child: pid_t = 0
    precondition(posix_spawn(&child, "/proc/self/exe", nil, nil, &arguments, environ) == 0)
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status == 0
  }

  /// Gives up root's rights, if there are any.
  static func becomeOrdinary() {
    if getuid() != 0 { return }
    precondition(setgroups(0, nil) == 0 && setgid(65534) == 0 && setuid(65534) == 0)
  }

  /// Before each case: nothing is left of the one before.
  static func tidy() {
    unlink("open-folder/new")
    unlink("locked-folder/new")
    unlink("guarded-folder/new")
  }

  /// Lowers the limit of descriptors, so that `exhaust` soon uses them up.
  static func limitDescriptors() {
    var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
  }

  /// Uses up all descriptors. Returns those that the caller has to close.
  static func exhaust() -> [Int32] {
    var taken: [Int32] = []
    while true {
      let descriptor = dup(2)
      if descriptor < 0 { return taken }
      taken.append(descriptor)
    }
  }
}
