// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The files that channels use, by descriptor: all channels of one descriptor share one, so that their operations follow
/// each other, and its flags are put back when the last of them has ended.
struct IOFiles: ~Copyable, @unchecked Sendable {  // guarded by `lock`
  private let lock = Lock()
  /// Guarded by `lock`: one allocation that holds the array, so that the struct itself stays immutable. Unretained: a
  /// file leaves before it goes.
  private let table: UnsafeMutablePointer<[Borrowed<IOFile>?]>
  /// Guarded by `lock`: as above; the files whose O_NONBLOCK is the channels'. Duplicates of one descriptor share the flag: a
  /// file that leaves clears it only if no other one here shares it.
  private let switched: UnsafeMutablePointer<[Borrowed<IOFile>]>

  init() {
    // unsafe: both live as long as the scheduler: for ever.
    table = .allocate(capacity: 1)
    table.initialize(to: [])
    switched = .allocate(capacity: 1)
    switched.initialize(to: [])
  }

  /// The file of an open descriptor, with one user more.
  func enter(_ descriptor: Int32) -> Result<IOFile, Errno> {
    if descriptor < 0 { return .failure(.badDescriptor) }
    let index = Int(descriptor)
    if let known = lock.withLock({ enterKnown(index) }) { return known }
    // Without the lock: the kernel may take long, for example while a file is read at its position.
    switch DescriptorKind.of(descriptor) {
    case .failure(let error): return .failure(error)
    case .success(var kind):
      lock.lock()
      defer { lock.unlock() }
      // Meanwhile another thread may have entered it, or a channel of a duplicate may have put O_NONBLOCK back.
      if let known = enterKnown(index) { return known }
      if kind.isNonBlocking { kind.isNonBlocking = FileReading.isNonBlocking(descriptor) }
      let file = IOFile(descriptor, kind)
      while table.pointee.count <= index { table.pointee.append(nil) }
      table.pointee[index] = Borrowed(file)
      if kind.isNonBlocking, sharesSwitch(file) { noteSwitched(file) }
      return .success(file)
    }
  }

  /// Guarded by `lock`: one user more of the descriptor's file; nil if there is none.
  private func enterKnown(_ index: Int) -> Result<IOFile, Errno>? {
    guard let file = entry(at: index)?.object else { return nil }
    if file.spoiledError != 0 { return .failure(Errno(code: file.spoiledError)) }
    file.users += 1
    return .success(file)
  }

  /// As `IOWait.operation`.
  func operation(on descriptor: Int32, _ direction: IOFile.Direction) -> IOOperation? {
    lock.withLock { entry(at: Int(descriptor))?.object }?.wait(direction).operation
  }

  // MARK: O_NONBLOCK

  /// Sets O_NONBLOCK, for as long as channels have the descriptor or a duplicate of it.
  func switchToNonBlocking(_ file: IOFile) -> Errno? {
    lock.lock()
    defer { lock.unlock() }
    if let error = FileReading.setNonBlocking(file.rawDescriptor, true) { return error }
    noteSwitched(file)
    return nil
  }

  /// Guarded by `lock`.
  private func noteSwitched(_ file: IOFile) {
    // relaxed: both directions of a file may come here; the lock orders them.
    if file.isSwitched.exchange(true, ordering: .relaxed) { return }
    switched.pointee.append(Borrowed(file))
  }

  /// Guarded by `lock`: whether O_NONBLOCK of the file is also that of another file here.
  private func sharesSwitch(_ file: IOFile) -> Bool {
    switched.pointee.contains { other in
      // unsafe: a file leaves before it goes.
      other.use {
        $0 !== file && Descriptor.share($0.rawDescriptor, file.rawDescriptor)
      }
    }
  }

  // MARK: Users

  /// One user more of a file that has one.
  func enter(_ file: IOFile) { lock.withLock { file.users += 1 } }

  /// One user less. The last one gives the descriptor back, and then all cleanup handlers run. A helper closes a path's: that may
  /// take long.
  func leave(_ file: IOFile, cleanup: IOCleanup? = nil) {
    lock.lock()
    if let cleanup { file.cleanups.append(cleanup) }
    file.users -= 1
    let isLast = file.users == 0
    let open = isLast ? giveBack(file) : -1
    lock.unlock()
    if open >= 0 { return IOScheduler.shared.start(IORequest(.close(open), of: file)) }
    if isLast { file.finish() }
  }

  /// Guarded by `lock`.
  private func entry(at index: Int) -> Borrowed<IOFile>? {
    index < table.pointee.count ? table.pointee[index] : nil
  }

  /// Guarded by `lock`: the next user of the same descriptor finds it as it was. Returns what is to be closed, or -1.
  private func giveBack(_ file: IOFile) -> Int32 {
    if file.path == nil {
      // A child of a fork gives its parent's channels back: it has a table of its own, and the flags stay the parent's.
      let index = Int(file.rawDescriptor)
      // unsafe: a file leaves before it goes.
      guard entry(at: index)?.use({ $0 === file }) == true else { return file.leaveToParent() }
      table.pointee[index] = nil
      // relaxed: the last user.
    } else if file.opener.load(ordering: .relaxed) != Thread.forkGeneration {
      return file.leaveToParent()
    }
    // relaxed: written under the lock.
    let wasSwitched = file.isSwitched.load(ordering: .relaxed)
    let keepsSwitch = wasSwitched && sharesSwitch(file)
    if wasSwitched {
      switched.pointee.removeAll { other in other.use { $0 === file } }
    }
    return file.giveBack(keepsSwitch: keepsSwitch)
  }
}

/// A channel's cleanup handler.
struct IOCleanup {
  let queue: DispatchQueue
  let handler: @Sendable (Int32) -> Void

  func submit(_ error: Int32) {
    let handler = handler
    queue.submitSlow { handler(error) }
  }
}
