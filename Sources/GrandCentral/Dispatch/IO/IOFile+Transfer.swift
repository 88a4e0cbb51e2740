// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Reading and writing as far as it does not block.
extension IOFile {
  enum Transfer {
    case moved(Int)
    /// Nothing more comes.
    case end
    /// Wait until the descriptor is ready.
    case later
    /// It may take long: a request does it.
    case slow
    case failed(Errno)
  }

  /// Whether waiting makes sense, so that a read that brings less than there was room for has emptied the descriptor, if that is a
  /// stream of bytes.
  var mayWait: Bool {
    // relaxed: only ever changes in this way.
    manner.load(ordering: .relaxed) != Manner.file && !isAlwaysReady.load(ordering: .relaxed)
  }

  func read(_ span: IOSpan, at offset: Int64) -> Transfer {
    let descriptor = rawDescriptor
    // relaxed: it changes from `asked` to `nonBlocking`, and a thread that has not seen that finds it out by itself.
    switch manner.load(ordering: .relaxed) {
    case Manner.socket:
      return outcome(FileReading.receive(descriptor, span), reads: true)
    case Manner.nonBlocking:
      if isUnready(.readable) { return .later }
      return outcome(FileReading.readPlainly(descriptor, span, at: offset), reads: true)
    case Manner.asked:
      let result = FileReading.readNow(descriptor, span, at: offset)
      if Errno(result: result) != .notSupported { return outcome(result, reads: true) }
      if let error = switchToNonBlocking() { return .failed(error) }
      return outcome(FileReading.readPlainly(descriptor, span, at: offset), reads: true)
    default:
      // relaxed: only ever set.
      if refusesAskingToRead.load(ordering: .relaxed) { return .slow }
      let result = FileReading.readNow(descriptor, span, at: offset)
      return asked(result, reads: true)
    }
  }

  func write(_ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64) -> Transfer {
    let descriptor = rawDescriptor
    // relaxed: as for reading.
    switch manner.load(ordering: .relaxed) {
    case Manner.socket:
      return outcome(FileReading.send(descriptor, spans, count), reads: false)
    case Manner.nonBlocking:
      if isUnready(.writable) { return .later }
      return outcome(FileReading.write(descriptor, spans, count, at: offset, mayBreak: mayBreak), reads: false)
    case Manner.asked:
      let result = FileReading.writeNow(descriptor, spans, count, at: offset, mayBreak: mayBreak)
      if Errno(result: result) != .notSupported { return outcome(result, reads: false) }
      if let error = switchToNonBlocking() { return .failed(error) }
      return outcome(FileReading.write(descriptor, spans, count, at: offset, mayBreak: mayBreak), reads: false)
    default:
      // relaxed: only ever set.
      if refusesAskingToWrite.load(ordering: .relaxed) { return .slow }
      return asked(FileReading.writeNow(descriptor, spans, count, at: offset, mayBreak: false), reads: false)
    }
  }

  private func asked(_ result: Int, reads: Bool) -> Transfer {
    switch Errno(result: result) {
    // A file that takes nothing and names no error: IOOperation.land has the end of it.
    case nil: return result > 0 ? .moved(result) : reads ? .end : .slow
    case .again: return .slow
    // Some file systems call it an invalid argument of a write. Where another argument is, the slow way says so.
    case .notSupported,
      .invalidArgument where !reads:
      if reads {
        // relaxed: a note.
        refusesAskingToRead.store(true, ordering: .relaxed)
      } else {
        // relaxed: a note.
        refusesAskingToWrite.store(true, ordering: .relaxed)
      }
      return .slow
    case .some(let error): return .failed(error)
    }
  }

  private func outcome(_ result: Int, reads: Bool) -> Transfer {
    if result > 0 { return .moved(result) }
    let error = Errno(result: result)
    if error == nil, reads {
      // A pipe that no process has opened for writing yet has not ended: then it has not been hung up either.
      return isPipe && !Descriptor.isReady(rawDescriptor, .hangUp) ? .later : .end
    }
    if let error, error != .again { return .failed(error) }
    // relaxed: only ever set.
    return isAlwaysReady.load(ordering: .relaxed) ? .slow : .later
  }

  /// A terminal that several processes have open: any of them may clear O_NONBLOCK again, so it is asked before.
  private func isUnready(_ interest: Epoll.Interest) -> Bool {
    // relaxed: as the manner.
    isSwitched.load(ordering: .relaxed) && !Descriptor.isReady(rawDescriptor, interest)
  }

  private func switchToNonBlocking() -> Errno? {
    if let error = IOScheduler.shared.files.switchToNonBlocking(self) { return error }
    // relaxed: a thread that sees it finds O_NONBLOCK set.
    manner.store(Manner.nonBlocking, ordering: .relaxed)
    return nil
  }
}
