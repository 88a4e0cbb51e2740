// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// How a read gathers bytes.
//
// A stream of bytes goes into a buffer until that is full. Some files keep messages instead, for example datagram sockets and
// inotify: a read brings one message, or whole records. What it has no room for, the kernel throws away, or it refuses the read.
// A pipe may keep packets, of a page at most, and its reading end does not tell.
//
// IOOperation.M1  Each read has the room that its file needs for the largest message (`IOFile.leastRoom`). The operation's length
//     and the high water mark alone make it smaller, not what was gathered before: a buffer with less room is closed, and the
//     read may go beyond the quantum. If one message more might exceed the high water mark, the operation delivers what it
//     has gathered first. A file that keeps messages does so even below the low water mark. A pipe does not, for nearly all
//     pipes are streams of bytes.
//
// After each message the operation waits, for a message is shorter than the room. If there is another one, the wait ends at once. One
// that ends with what is there reads on instead, until the kernel says that there is no more, or its length has less room than a
// message may need.
extension IOOperation {
  /// Fewer bytes than this are copied, and the buffer is used on.
  private static let smallest = 16 << 10
  /// The same for a message that another one follows: a delivery with a buffer for each of its messages takes four times
  /// the memory of their bytes at most.
  private static let smallestMessage = IOBuffers.size / 4

  func read(from file: IOFile) {
    var budget = Self.budget
    while outcome == nil {
      if remaining == 0 {
        outcome = 0
        return
      }
      if isFull(file), !deliverAndGoOn() { return }
      let span = room(file)
      switch file.read(span, at: offset) {
      case .moved(let count):
        account(count)
        budget -= count
        if count < span.count, remaining > 0, !isRandom, file.mayWait, !readsOn(file) {
          if !wait(file) { return }
        } else if budget <= 0 {
          yields = true
          return
        }
      case .end: end()
      case .later where !isRandom: if !wait(file) { return }
      case .slow, .later: return start(file, span)
      case .failed(let error): fail(error)
      }
    }
  }

  private func readsOn(_ file: IOFile) -> Bool { takesWhatIsThere && remaining >= file.leastRoom }

  /// Whether what was gathered is delivered before the next read.
  private func isFull(_ file: IOFile) -> Bool {
    if gatheredCount >= limits.quantum { return true }
    if gatheredCount == 0 || limits.highWater - gatheredCount >= leastRoom(file) { return false }
    return gatheredCount >= limits.lowWater || file.keepsMessages
  }

  /// The room that the next read needs (IOOperation.M1).
  private func leastRoom(_ file: IOFile) -> Int { min(file.leastRoom, remaining, limits.highWater) }

  /// Where the next bytes go.
  private func room(_ file: IOFile) -> IOSpan {
    let least = leastRoom(file)
    if used > 0, IOBuffers.size - used < max(least, 1) { closeFullBuffer() }
    let buffer = buffer ?? IOScheduler.shared.buffers.take()
    self.buffer = buffer
    let wanted = min(remaining, limits.highWater - gatheredCount, max(limits.quantum - gatheredCount, least))
    return IOSpan(start: buffer + used, count: min(wanted, IOBuffers.size - used))
  }

  func account(_ count: Int) {
    if Recorder.isOn { Recorder.note(.transfer, detail: 1, word: UInt64(count)) }
    used += count
    gatheredCount += count
    if remaining != .max { remaining -= count }
    if isRandom { offset += Int64(count) }
  }

  func end() {
    isAtEnd = true
    outcome = 0
  }

  /// Moves what the buffer has to what was gathered.
  private func closeBuffer() {
    guard let full = buffer else { return }
    if used > Self.smallest {
      gathered.append(IOBuffers.data(full, used))
      buffer = nil
    } else if used > 0 {
      gathered.append(DispatchData(bytes: UnsafeRawBufferPointer(start: full, count: used)))
    }
    used = 0
  }

  /// As `closeBuffer`, of a buffer that has no room for a message more.
  private func closeFullBuffer() {
    guard let buffer, used <= Self.smallestMessage else { return closeBuffer() }
    // Small messages come to lie in one region.
    gathered.append(UnsafeRawBufferPointer(start: buffer, count: used))
    used = 0
  }

  /// What was gathered, which is the caller's now.
  func takeGathered() -> DispatchData {
    closeBuffer()
    let data = gathered
    gathered = .empty
    gatheredCount = 0
    return data
  }

  func dropBuffer() {
    guard let buffer, used == 0 else { return }
    IOScheduler.shared.buffers.give(buffer)
    self.buffer = nil
  }
}
