// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Has the kernel refuse some system calls of the calling thread, and of the threads that it starts from now on, as the
/// profile of a container does. There is no way back.
public enum SystemCallFilter {
  public enum Call: String, CaseIterable, Sendable {
    case clone, clone3, epoll_create1, epoll_pwait2, timerfd_create, eventfd2, inotify_init1, inotify_add_watch
    case pidfd_open, io_uring_setup, mmap
    case madvise, memfd_create, membarrier, kcmp, preadv2, pwritev2, ioctl, socket

    fileprivate var number: UInt32 {
      #if arch(x86_64)
        switch self {
        case .clone: 56
        case .clone3: 435
        case .epoll_create1: 291
        case .epoll_pwait2: 441
        case .timerfd_create: 283
        case .eventfd2: 290
        case .inotify_init1: 294
        case .inotify_add_watch: 254
        case .pidfd_open: 434
        case .io_uring_setup: 425
        case .mmap: 9
        case .madvise: 28
        case .memfd_create: 319
        case .membarrier: 324
        case .kcmp: 312
        case .preadv2: 327
        case .pwritev2: 328
        case .ioctl: 16
        case .socket: 41
        }
      #else
        switch self {
        case .clone: 220
        case .clone3: 435
        case .epoll_create1: 20
        case .epoll_pwait2: 441
        case .timerfd_create: 85
        case .eventfd2: 19
        case .inotify_init1: 26
        case .inotify_add_watch: 27
        case .pidfd_open: 434
        case .io_uring_setup: 425
        case .mmap: 222
        case .madvise: 233
        case .memfd_create: 279
        case .membarrier: 283
        case .kcmp: 272
        case .preadv2: 286
        case .pwritev2: 287
        case .ioctl: 29
        case .socket: 198
        }
      #endif
    }
  }

  /// What the lower half of an argument is where a call is refused for its sake: a request or a flag that an older kernel does not know.
  public struct Condition: Sendable {
    fileprivate let argument: UInt32, value: UInt32, isBit: Bool

    /// - Parameter argument: From 0.
    public static func equal(_ value: UInt32, argument: UInt32) -> Self {
      Self(argument: argument, value: value, isBit: false)
    }

    public static func hasBit(_ value: UInt32, argument: UInt32) -> Self {
      Self(argument: argument, value: value, isBit: true)
    }
  }

  private struct Instruction {
    var code: UInt16
    var whenTrue: UInt8 = 0
    var whenFalse: UInt8 = 0
    var value: UInt32
  }

  private struct Program {
    var count: UInt16
    var instructions: UnsafeMutablePointer<Instruction>
  }

  private typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32

  /// - Parameters:
  ///   - condition: The calls are refused only where it holds.
  ///   - smallest: Of `mmap`, only calls for at least as many bytes are refused, and none for a thread's stack.
  /// - Returns: false when the kernel does not filter.
  public static func refuse(
    _ calls: [Call], with error: Int32, where condition: Condition? = nil, smallest: UInt32 = 0
  ) -> Bool {
    let (load, answer) = (UInt16(0x20), UInt16(0x06))
    let (equal, atLeast, anyBit) = (UInt16(0x15), UInt16(0x35), UInt16(0x45))
    let refusal = 0x0005_0000 | UInt32(error)
    var instructions = [Instruction(code: load, value: 0)]
    for call in calls {
      if call == .mmap, smallest > 0 {
        // The flags, then the length's two words: stacks of threads and small ones pass.
        instructions += [
          Instruction(code: equal, whenFalse: 8, value: call.number), Instruction(code: load, value: 40),
          Instruction(code: anyBit, whenTrue: 5, value: UInt32(MAP_STACK)), Instruction(code: load, value: 28),
          Instruction(code: equal, whenFalse: 2, value: 0), Instruction(code: load, value: 24),
          Instruction(code: atLeast, whenFalse: 1, value: smallest), Instruction(code: answer, value: refusal),
          Instruction(code: load, value: 0),
        ]
      } else if let condition {
        instructions += [
          Instruction(code: equal, whenFalse: 4, value: call.number),
          Instruction(code: load, value: 16 + 8 * condition.argument),
          Instruction(code: condition.isBit ? anyBit : equal, whenFalse: 1, value: condition.value),
          Instruction(code: answer, value: refusal), Instruction(code: load, value: 0),
        ]
      } else {
        instructions += [
          Instruction(code: equal, whenFalse: 1, value: call.number), Instruction(code: answer, value: refusal),
        ]
      }
    }
    instructions.append(Instruction(code: answer, value: 0x7fff_0000))
    let prctl = unsafeBitCast(dlsym(nil, "prctl"), to: Prctl.self)
    let (noNewPrivileges, setFilter, filterMode): (Int32, Int32, UInt) = (38, 22, 2)
    guard prctl(noNewPrivileges, 1, 0, 0, 0) == 0 else { return false }
    return instructions.withUnsafeMutableBufferPointer { buffer in
      var program = Program(count: UInt16(buffer.count), instructions: buffer.baseAddress!)
      return withUnsafeMutablePointer(to: &program) { prctl(setFilter, filterMode, UInt(bitPattern: $0), 0, 0) == 0 }
    }
  }
}
