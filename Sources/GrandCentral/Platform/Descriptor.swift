// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Which file it is, by whatever number: as long as something has it open, no other file has its identity. Afterwards a file that is made
/// may have the same number on its device, and is younger.
struct FileIdentity: Equatable {
  let device: UInt64
  let inode: UInt64
  let birth: UInt64
}

/// Questions about a descriptor that belongs to the program.
enum Descriptor {
  /// Whether the number is one of an open descriptor.
  static func isOpen(_ descriptor: Int32) -> Bool { gc_is_open(descriptor) }

  /// Nil if the number is that of no open descriptor.
  static func identity(_ descriptor: Int32) -> FileIdentity? {
    var (device, inode, birth): (UInt64, UInt64, UInt64) = (0, 0, 0)
    if !gc_file_identity(descriptor, &device, &inode, &birth) { return nil }
    return FileIdentity(device: device, inode: inode, birth: birth)
  }

  /// Whether one of `interest`, an error or a hang-up is there now.
  static func isReady(_ descriptor: Int32, _ interest: Epoll.Interest) -> Bool {
    gc_poll(descriptor, interest.rawValue) > 0
  }

  /// As above; nil if there is no such descriptor.
  static func isReadyIfOpen(_ descriptor: Int32, _ interest: Epoll.Interest) -> Bool? {
    let happened = gc_poll(descriptor, interest.rawValue)
    return happened & Int32(GC_POLLNVAL) != 0 ? nil : happened > 0
  }

  /// Why no descriptor can be opened now; nil if one can.
  static func shortage() -> Errno? {
    let made = gc_epoll_create()
    if let error = Errno(result: Int(made)) { return error.isShortage ? error : nil }
    _ = gc_close(made)
    return nil
  }

  /// How many bytes can be read from a pipe, a socket or a terminal, as far as the kernel tells; 0 when it does not.
  static func bytesToRead(_ descriptor: Int32) -> Int { gc_bytes_to_read(descriptor) }

  /// How many bytes of a regular file lie behind its position; 0 for another kind.
  static func bytesLeft(_ descriptor: Int32) -> Int { gc_bytes_left(descriptor) }

  /// How many bytes can be written without blocking, as far as the kernel tells; 0 when it does not.
  static func roomToWrite(_ descriptor: Int32) -> Int { gc_room_to_write(descriptor) }

  /// Whether both share their flags: they are duplicates of each other.
  static func share(_ descriptor: Int32, _ other: Int32) -> Bool { gc_descriptors_share(descriptor, other) }
}
