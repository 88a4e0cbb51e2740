// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What is watched, by descriptor number.
//
//   pages ─► [ page ─► | registration 0 | registration 1 | … ]      registration ─► watch ─► watch
//
//   | registration | letter  | means                                                              |
//   |--------------|---------|--------------------------------------------------------------------|
//   | generation   | M(lock) | counts the registrations with the kernel; part of the event's token |
//   | asOf         | M(lock) | the number of the wait that was the newest when `generation` began  |
//   | first        | M(lock) | the watches; the kernel is told what they want together             |
//   | told         | M(lock) | what it was told last                                               |
//
// DescriptorTable.D1  The kernel has one registration for a descriptor number, as long as the number has a watch. It is
//     level-triggered: a reader that has drained its descriptor by the time of the next wait costs no further call. If events
//     are reported again before a watch's party has taken the earlier ones, the watch is disarmed. It is armed again when the
//     party has taken them.
// DescriptorTable.D2  An event's token is the descriptor's number and the registration's generation. Events of an older
//     generation belong to no watch, and are dropped. So a descriptor number that is used again never gets another file's
//     events. Most dropped events come from a wait that had begun when the watch was taken off; no more of them follow.
// DescriptorTable.D3  Watches are reported to under the lock, and taken off under the lock: when `remove` has returned,
//     no report runs, and none will.
// DescriptorTable.D4  A program may close a descriptor that is watched. The kernel then forgets the registration, and the next
//     call about it fails: its watches are told that the descriptor is gone. A party that takes each event at once gives no
//     cause for a call, so one is made for every so many events (`Registration.isDue`). If a duplicate keeps the file open,
//     the kernel does not forget, and no number is left with which to remove the registration: its events, which belong to no watch, come
//     for ever. They are told from those of DescriptorTable.D2 by the wait that brought them: it began after the generation
//     did (`asOf`), so the kernel had been told already. Then all registrations move to a new epoll, and the old one is closed
//     (`foreign`).
//
// The lock is never held while a program's code runs; reports submit jobs.
struct DescriptorTable: ~Copyable, @unchecked Sendable {  // the pages are guarded by `lock`
  struct Registration: ~Copyable {
    var generation: UInt32 = 0
    var told: UInt32 = 0
    var asOf: UInt64 = 0
    var first: DescriptorWatch.Pointer?
    /// How many events were reported.
    var reports: UInt32 = 0

    /// Whether this event is one of those at which the kernel is asked if the number still names the file.
    mutating func isDue() -> Bool {
      reports &+= 1
      return reports % 64 == 0
    }
  }

  typealias Page = UnsafeMutablePointer<Registration>

  static let pageSize = 256

  private let lock = Lock()
  /// Guarded by `lock`: grows, never shrinks. One allocation that holds the array, so that the table itself stays
  /// immutable.
  private let pages: UnsafeMutablePointer<[Page?]>
  /// Written under the lock: watches listed.
  private let count = Atomic<Int>(0)

  @_optimize(size)
  init() {
    // unsafe: lives as long as the engine.
    pages = .allocate(capacity: 1)
    pages.initialize(to: [])
  }

  /// The engine goes, no thread is in it, and nothing is watched.
  @_optimize(size)
  func discard() {
    for page in pages.move() {
      page?.deinitialize(count: Self.pageSize)
      page?.deallocate()
    }
    pages.deallocate()
  }

  /// Whether nothing is watched.
  var isEmpty: Bool {
    // seq-cst: asked by a sleeper after it has joined the idle list; the adder counts first and looks at the sleepers
    // afterwards.
    count.load(ordering: .sequentiallyConsistent) == 0
  }

  func lockForFork() { lock.lock() }
  func unlockAfterFork() { lock.unlock() }

  // MARK: Watching

  enum Addition: Equatable {
    case watched
    /// A file that is always ready; the kernel does not watch it.
    case alwaysReady
    case failed(Errno)
  }

  /// Starts watching.
  @_optimize(size)
  func add(_ watch: DescriptorWatch.Pointer, on poller: borrowing EpollPoller) -> Addition {
    World.goBeyondOrders(.kernel)
    lock.lock()
    defer { lock.unlock() }
    guard let epoll = poller.epoll else { return .failed(.descriptorsExhausted) }
    // A number for which there is no page yet may be no descriptor at all, and may be very large.
    if !hasPage(watch.pointee.descriptor), !Descriptor.isOpen(watch.pointee.descriptor) {
      return .failed(.badDescriptor)
    }
    let registration = registration(watch.pointee.descriptor)
    if registration.pointee.first != nil {
      list(watch, registration)
      if tell(registration, watch.pointee.descriptor, epoll) == nil { return .watched }
      // The number names another file by now: the watched file is gone, and the new watch starts afresh.
      unlist(watch, registration)
      forget(registration, on: poller)
    }
    begin(registration, on: poller)
    let token = Self.token(watch.pointee.descriptor, registration.pointee.generation)
    registration.pointee.told = watch.pointee.interest.rawValue
    var error = epoll.pointee.add(watch.pointee.descriptor, watch.pointee.interest, token: token)
    // The kernel still has a registration of this very file, which could not be removed.
    if error == .exists { error = epoll.pointee.modify(watch.pointee.descriptor, watch.pointee.interest, token: token) }
    if let error { return error == .notPermitted ? .alwaysReady : .failed(error) }
    list(watch, registration)
    return .watched
  }

  enum Removal { case removed, gone, absent }

  /// Ends watching; afterwards nothing is reported any more.
  @discardableResult
  @_optimize(size)
  func remove(_ watch: DescriptorWatch.Pointer, on poller: borrowing EpollPoller) -> Removal {
    lock.lock()
    defer { lock.unlock() }
    guard isHere(watch), let epoll = poller.epoll else { return .absent }
    let registration = registration(watch.pointee.descriptor)
    unlist(watch, registration)
    if registration.pointee.first != nil {
      if tell(registration, watch.pointee.descriptor, epoll) == nil { return .removed }
      forget(registration, on: poller)
      return .gone
    }
    let error = epoll.pointee.remove(watch.pointee.descriptor)
    begin(registration, on: poller)
    return error == nil ? .removed : .gone
  }

  /// The party has taken what was reported, and wants to hear more.
  func rearm(_ watch: DescriptorWatch.Pointer, on poller: borrowing EpollPoller) {
    lock.lock()
    defer { lock.unlock() }
    guard isHere(watch), !watch.pointee.isArmed, let epoll = poller.epoll else { return }
    watch.pointee.isArmed = true
    let registration = registration(watch.pointee.descriptor)
    if tell(registration, watch.pointee.descriptor, epoll) != nil { forget(registration, on: poller) }
  }

  // MARK: Reporting

  /// Holder of the poller's role: reports a batch of events.
  ///
  /// - Returns: whether there were events of a registration that has no watch and cannot be removed (DescriptorTable.D4).
  func report(_ events: UnsafeBufferPointer<Epoll.Event>, on poller: borrowing EpollPoller) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard let epoll = poller.epoll else { return false }
    var foreign = false
    for event in events where Self.isToken(event.token) {
      let descriptor = Int32(truncatingIfNeeded: event.token & 0x7fff_ffff)
      let registration = registration(descriptor)
      if registration.pointee.first == nil || Self.token(descriptor, registration.pointee.generation) != event.token {
        if poller.newestWait > registration.pointee.asOf { foreign = true }
        continue
      }
      if report(event.events, registration) || registration.pointee.isDue(),
        tell(registration, descriptor, epoll) != nil
      {
        forget(registration, on: poller)
      }
    }
    return foreign
  }

  /// - Returns: whether a watch was disarmed.
  private func report(_ happened: UInt32, _ registration: Page) -> Bool {
    let always: Epoll.Interest = [.error, .hangUp]
    var changed = false
    var next = registration.pointee.first
    while let watch = next {
      next = watch.pointee.next
      let wanted = watch.pointee.interest.union(always).rawValue
      if !watch.pointee.isArmed || happened & wanted == 0 { continue }
      if !watch.pointee.report(watch.pointee.context, happened) {
        watch.pointee.isArmed = false
        changed = true
      }
    }
    return changed
  }

  /// DescriptorTable.D4: moves every registration to another epoll, which takes the old one's place.
  ///
  /// - Returns: nil, or why the kernel does not take them all now: then the old one stays, with all of them.
  @_optimize(size)
  func move(
    from place: UnsafeMutablePointer<Epoll>, to new: consuming Epoll, on poller: borrowing EpollPoller
  ) -> Errno? {
    lock.lock()
    defer { lock.unlock() }
    for page in pages.pointee.indices {
      guard let registrations = pages.pointee[page] else { continue }
      for index in 0..<Self.pageSize where registrations[index].first != nil {
        let (registration, descriptor) = (registrations + index, Int32(page * Self.pageSize + index))
        let token = Self.token(descriptor, registrations[index].generation)
        // The old one still knows whether the number names the file that is watched.
        let told = Epoll.Interest(rawValue: registrations[index].told)
        if let error = place.pointee.modify(descriptor, told, token: token) {
          if error.isShortage { return error }
          forget(registration, on: poller)
          continue
        }
        switch new.add(descriptor, told, token: token) {
        case nil: break
        // Closed between the two calls.
        case .badDescriptor?: forget(registration, on: poller)
        // Not the descriptor's fault: out of memory, or of what fs.epoll.max_user_watches allows.
        case let error?: return error
        }
      }
    }
    place.pointee = new
    return nil
  }

  // MARK: With the lock held

  private func hasPage(_ descriptor: Int32) -> Bool {
    let page = Int(descriptor) / Self.pageSize
    return page < pages.pointee.count && pages.pointee[page] != nil
  }

  private func registration(_ descriptor: Int32) -> Page {
    let (page, index) = (Int(descriptor) / Self.pageSize, Int(descriptor) % Self.pageSize)
    while pages.pointee.count <= page { pages.pointee.append(nil) }
    if let registrations = pages.pointee[page] { return registrations + index }
    // unsafe: lives as long as the engine.
    let made = Page.allocate(capacity: Self.pageSize)
    for index in 0..<Self.pageSize { (made + index).initialize(to: Registration()) }
    pages.pointee[page] = made
    return made + index
  }

  private func isHere(_ watch: DescriptorWatch.Pointer) -> Bool {
    watch.pointee.isListed && watch.pointee.generation == Thread.forkGeneration
  }

  private func list(_ watch: DescriptorWatch.Pointer, _ registration: Page) {
    watch.pointee.next = registration.pointee.first
    watch.pointee.isArmed = true
    watch.pointee.isListed = true
    watch.pointee.generation = Thread.forkGeneration
    registration.pointee.first = watch
    // seq-cst: see `isEmpty`.
    count.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }

  private func unlist(_ watch: DescriptorWatch.Pointer, _ registration: Page) {
    var place = registration.pointee.first
    if place == watch {
      registration.pointee.first = watch.pointee.next
    } else {
      while let candidate = place, candidate.pointee.next != watch { place = candidate.pointee.next }
      place?.pointee.next = watch.pointee.next
    }
    watch.pointee.isListed = false
    // relaxed: the only effect of a lower count is that a sleeper may sleep longer.
    count.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Tells the kernel what the armed watches want together; a failure means that the descriptor is not what it was.
  private func tell(_ registration: Page, _ descriptor: Int32, _ epoll: UnsafeMutablePointer<Epoll>) -> Errno? {
    var wanted: Epoll.Interest = []
    var next = registration.pointee.first
    while let watch = next {
      next = watch.pointee.next
      if watch.pointee.isArmed { wanted.formUnion(watch.pointee.interest) }
    }
    // Errors and hang-ups are reported without being asked for, and again and again: one shot makes them fall silent.
    if wanted.isEmpty { wanted = .oneShot }
    let error = epoll.pointee.modify(descriptor, wanted, token: Self.token(descriptor, registration.pointee.generation))
    if error == nil { registration.pointee.told = wanted.rawValue }
    return error
  }

  /// DescriptorTable.D2: what the kernel reports from now on is of another generation. Called after the kernel has been told
  /// to stop, so that a wait that begins later brings nothing of the former generation.
  private func begin(_ registration: Page, on poller: borrowing EpollPoller) {
    registration.pointee.generation &+= 1
    registration.pointee.asOf = poller.newestWait
  }

  /// DescriptorTable.D4: the descriptor was closed; its watches are told, and are off the table.
  private func forget(_ registration: Page, on poller: borrowing EpollPoller) {
    begin(registration, on: poller)
    while let watch = registration.pointee.first {
      unlist(watch, registration)
      _ = watch.pointee.report(watch.pointee.context, DescriptorWatch.gone)
    }
  }

  // MARK: Tokens

  /// The poller's own tokens do not have this bit.
  private static let mark: UInt64 = 1 << 31

  private static func isToken(_ token: UInt64) -> Bool { token & mark != 0 }

  private static func token(_ descriptor: Int32, _ generation: UInt32) -> UInt64 {
    UInt64(generation) << 32 | mark | UInt64(UInt32(bitPattern: descriptor))
  }
}
