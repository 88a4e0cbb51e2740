// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchSource {
  /// What can happen to a file or a folder.
  @frozen
  public struct FileSystemEvent: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The last name is gone. The file itself lives on until its last descriptor is closed.
    @_alwaysEmitIntoClient public static var delete: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x1) }
    /// The content has changed: bytes were written or cut off; entries of a folder came, went or were renamed.
    @_alwaysEmitIntoClient public static var write: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x2) }
    /// The file has become longer.
    @_alwaysEmitIntoClient public static var extend: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x4) }
    /// Owner, permissions, times, extended attributes, or the number of names have changed.
    @_alwaysEmitIntoClient public static var attrib: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x8) }
    /// The number of names has changed; of a folder, the number of folders in it, where the file system counts them.
    @_alwaysEmitIntoClient public static var link: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x10) }
    /// The file or folder was renamed or moved.
    @_alwaysEmitIntoClient public static var rename: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x20) }
    /// The file system was unmounted.
    @_alwaysEmitIntoClient public static var revoke: DispatchSource.FileSystemEvent { FileSystemEvent(rawValue: 0x40) }
    /// A lock was let go of. Linux does not tell: it never happens.
    @_alwaysEmitIntoClient public static var funlock: DispatchSource.FileSystemEvent {
      FileSystemEvent(rawValue: 0x100)
    }

    /// All events.
    @_alwaysEmitIntoClient public static var all: FileSystemEvent {
      [.delete, .write, .extend, .attrib, .link, .rename, .revoke]
    }
  }

  /// A source that fires when something of `eventMask` happens to the file or folder that `fileDescriptor` is open on.
  ///
  /// ```swift
  /// let file = open("settings.json", O_RDONLY)
  /// let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: [.write, .delete], queue: queue)
  /// source.setEventHandler {
  ///   if source.data.contains(.delete) { source.cancel() } else { reload() }
  /// }
  /// source.setCancelHandler { close(file) }
  /// source.activate()
  /// ```
  ///
  /// What is watched is the open file, not its name: renaming it changes nothing, and an editor that saves by replacing
  /// the file causes `delete` on the former one. Events that come before the handler has started are merged into one
  /// call. `O_PATH` descriptors will do; the file must be readable for the program.
  ///
  /// A file that cannot be watched is reported on standard error, and the source is cancelled.
  ///
  /// Differences from libdispatch: on Linux it has no such source. The number of names is compared when the event is
  /// looked at, so that a name added and removed at once is `attrib` alone.
  ///
  /// Complexity: O(1). Blocking: never.
  @_optimize(size)
  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: DispatchSource.FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject {
    FileSystemSource(descriptor: fileDescriptor, mask: eventMask, queue: queue)
  }
}

/// A source that fires when something happens to a file or a folder.
///
/// ```swift
/// let file = open("settings.json", O_RDONLY)
/// let watch = DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: [.write, .delete], queue: .main)
/// watch.setEventHandler { readSettings() }
/// watch.setCancelHandler { close(file) }
/// watch.activate()
/// ```
public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

extension DispatchSourceFileSystemObject {
  /// The descriptor.
  public var handle: Int32 {
    let source: any DispatchSourceProtocol = self
    return Int32(truncatingIfNeeded: source.handle)
  }

  /// What has happened since the last call of the event handler.
  public var data: DispatchSource.FileSystemEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.FileSystemEvent(rawValue: source.data)
  }

  /// What is watched for.
  public var mask: DispatchSource.FileSystemEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.FileSystemEvent(rawValue: source.mask)
  }
}
