// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a source calls, and how.
struct SourceHandler {
  let body: () -> Void
  let qos: QoSWord
  let flags: DispatchWorkItemFlags

  init(_ body: @escaping () -> Void, qos: DispatchQoS, flags: DispatchWorkItemFlags) {
    self.body = body
    self.qos = flags.contains(.noQoS) ? .unspecified : QoSWord(qos)
    self.flags = flags
  }

  init(_ item: DispatchWorkItem) {
    self.init({ item.perform() }, qos: .unspecified, flags: [])
  }
}

/// A source's handlers, each nil until it is set.
struct SourceHandlers {
  enum Role { case event, registration, cancel }

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

  var isEmpty: Bool { event == nil && registration == nil && cancel == nil }
}
