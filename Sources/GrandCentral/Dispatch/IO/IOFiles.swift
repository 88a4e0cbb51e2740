// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The files that channels use, by descriptor: all channels of one descriptor share one, so that their operations follow
/// each other, and its flags are put back when the last of them has ended.
struct IOFiles: ~Copyable, @unchecked Sendable {  // guarded by `lock`
  private let lock = Lock()
  /// M(lock): one allocation that holds the array, so that the struct itself stays immutable. Unretained: a file leaves
  /// before it goes.
  private let table: UnsafeMutablePointer<[Unmanaged<IOFile>?]>

  init() {
    // unsafe: lives as long as the scheduler: for ever.
    table = .allocate(capacity: 1)
    table.initialize(to: [])
  }

  /// The file of an open descriptor, with one user more.
  func enter(_ descriptor: Int32) -> Result<IOFile, Errno> {
    if descriptor < 0 { return .failure(.badDescriptor) }
    let index = Int(descriptor)
    lock.lock()
    defer { lock.unlock() }
    if index < table.pointee.count, let known = table.pointee[index] {
      let file = known.takeUnretainedValue()
      file.users += 1
      return .success(file)
    }
    switch DescriptorKind.of(descriptor) {
    case .failure(let error): return .failure(error)
    case .success(let kind):
      let file = IOFile(descriptor, kind)
      while table.pointee.count <= index { table.pointee.append(nil) }
      table.pointee[index] = Unmanaged.passUnretained(file)
      return .success(file)
    }
  }

  /// One user more of a file that has one.
  func enter(_ file: IOFile) { lock.withLock { file.users += 1 } }

  /// One user less. The last one gives the descriptor back, and then all cleanup handlers run.
  func leave(_ file: IOFile, cleanup: IOCleanup? = nil) {
    lock.lock()
    if let cleanup { file.cleanups.append(cleanup) }
    file.users -= 1
    let isLast = file.users == 0
    if isLast { giveBack(file) }
    lock.unlock()
    if isLast { file.finish() }
  }

  /// As `leave`, if the caller is the last user.
  func leaveIfLast(_ file: IOFile) -> Bool {
    lock.lock()
    let isLast = file.users == 1
    if isLast {
      file.users = 0
      giveBack(file)
    }
    lock.unlock()
    if isLast { file.finish() }
    return isLast
  }

  /// M(lock): who enters the same descriptor next finds it as it was.
  private func giveBack(_ file: IOFile) {
    if file.path == nil { table.pointee[Int(file.rawDescriptor)] = nil }
    file.giveBack()
  }
}

/// A channel's cleanup handler.
struct IOCleanup {
  let queue: DispatchQueue
  let handler: @Sendable (Int32) -> Void

  func submit(_ error: Int32) {
    let handler = handler
    queue.async { handler(error) }
  }
}
