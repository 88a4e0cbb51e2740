// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A closure that a source calls, and the quality of service and the flags to call it with.
struct SourceHandler {
  let body: () -> Void
  let qos: QoSWord
  let flags: DispatchWorkItemFlags

  init(_ body: @escaping () -> Void, qos: DispatchQoS, flags: DispatchWorkItemFlags) {
    self.body = body
    self.qos = flags.contains(.noQoS) ? .unspecified : QoSWord(qos)
    self.flags = flags
  }

  /// The item is performed each time, as a submission of it would be: with its quality of service and its flags.
  init(_ item: DispatchWorkItem) { self.init(as: item) { item.perform() } }

  /// What is called in the way of an item; of none, in no particular one.
  init(as item: DispatchWorkItem?, _ body: @escaping () -> Void) {
    self.body = body
    qos = item?.wantedQoS ?? .unspecified
    flags = item?.flags ?? []
  }

  /// The same, for the C interface, whose closures call something else in the end: that is told behind the flags, which use the lowest
  /// bits alone.
  init(as item: DispatchWorkItem?, telling code: UInt, _ body: @escaping () -> Void) {
    self.body = body
    qos = item?.wantedQoS ?? .unspecified
    flags = DispatchWorkItemFlags(rawValue: (item?.flags.rawValue ?? 0) | code << Self.flagBits)
  }

  /// What was told.
  var told: UInt { flags.rawValue >> Self.flagBits }

  private static var flagBits: UInt { 8 }

  var isBarrier: Bool { flags.contains(.barrier) }

  /// The address of the code, for tracers.
  var function: UInt { BorrowedClosure(body).address }
}

/// A source's handlers, each nil until it is set.
struct SourceHandlers {
  enum Role: UInt8 { case event, registration, cancel }

  /// A set of roles.
  struct Roles: Equatable {
    var rawValue: UInt8 = 0

    @inline(__always)
    func contains(_ role: Role) -> Bool { rawValue & 1 << role.rawValue != 0 }
    mutating func insert(_ role: Role) { rawValue |= 1 << role.rawValue }

    // Of a source that has finished, in place of roles.
    /// Its handlers were taken away.
    static let taken: UInt8 = 1 << 6
    /// A cancel handler was called, or is about to be.
    static let ended: UInt8 = 1 << 7
  }

  private(set) var event: SourceHandler?
  private(set) var registration: SourceHandler?
  private(set) var cancel: SourceHandler?

  @inline(__always)
  subscript(role: Role) -> SourceHandler? {
    get {
      switch role {
      case .event: event
      case .registration: registration
      case .cancel: cancel
      }
    }
    set {
      switch role {
      case .event: event = newValue
      case .registration: registration = newValue
      case .cancel: cancel = newValue
      }
    }
  }

  /// How the handler of a role is to be called. Its closure is not retained for that.
  @inline(__always)
  func wishes(of role: Role) -> (qos: QoSWord, flags: DispatchWorkItemFlags)? {
    switch role {
    case .event: event.map { ($0.qos, $0.flags) }
    case .registration: registration.map { ($0.qos, $0.flags) }
    case .cancel: cancel.map { ($0.qos, $0.flags) }
    }
  }

  /// Those that must run alone on a concurrent queue.
  var barriers: Roles {
    var roles = Roles()
    for role in [Role.event, .registration, .cancel] where self[role]?.isBarrier == true { roles.insert(role) }
    return roles
  }

  var isEmpty: Bool { event == nil && registration == nil && cancel == nil }
}
