// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Carries out what may take long, and has what all channels share.
///
///   ring      up to 64 requests are with the kernel; its completions make the ring's descriptor readable
///   helpers   up to 8 workers of the pool read and write, and are replaced meanwhile (see Blocking.swift)
///
/// One of the two is chosen when the first request at an offset comes: the ring if the kernel has one for us and
/// `GRANDCENTRAL_IO` does not say `threads`, else the helpers. Files are opened by helpers in either case.
///
/// IOScheduler.P1  Helpers alone read and write at a file's position. The kernel keeps it for the length of `read` and `write`,
///     so that other users of the open file come before or after. A request of the ring that found out the position, and
///     moved it later, would write over what they have written meanwhile.
///
/// There is one scheduler for each engine: a forked child starts with a fresh one, as it does with a fresh engine, and a run of a
/// simulation has its own in its world.
///
/// Lock order: a channel's lock, then a file's lock. Inside the scheduler's locks nothing is locked. `IOFiles` is an
/// exception: it holds its lock around calls of the descriptor table.
final class IOScheduler: @unchecked Sendable {  // guarded by its locks, as said at the fields
  private nonisolated(unsafe) static let instance = Atomic<UnsafeMutableRawPointer?>(nil)

  private let engineAddress: Engine.Address
  private var engine: Engine.Pointer { Engine.at(engineAddress) }
  let buffers = IOBuffers()
  let files = IOFiles()

  private static let mostHelpers = 8
  private static let mostInRing = 64

  private let lock = Lock()
  /// Guarded by `lock`: requests for helpers, and helpers that run.
  @exclusivity(unchecked) private var backlog = IORequestList()
  @exclusivity(unchecked) private var helpers = 0
  /// Guarded by `lock`: requests for the ring, and requests in it.
  @exclusivity(unchecked) private var ringBacklog = IORequestList()
  @exclusivity(unchecked) private var inRing = 0
  /// Guarded by `lock`: whether the choice was made; the ring, which then stays.
  @exclusivity(unchecked) private var hasChosen = false
  @exclusivity(unchecked) private var ring: UnsafeMutablePointer<IORing>?
  @exclusivity(unchecked) private var watch: DescriptorWatch.Pointer?

  private init(_ engine: Engine.Pointer) { engineAddress = Engine.Address(engine) }

  /// The engine that a thread makes, or has made, the scheduler for.
  private static let maker = Atomic<UInt>(0)

  static var shared: IOScheduler { existing ?? makeSlow() }

  /// The scheduler of this process's engine.
  @inline(__always)
  private static var existing: IOScheduler? {
    // pairs with: makeSlow – publishes the scheduler
    guard let raw = instance.load(ordering: .acquiring) else { return nil }
    let scheduler = Borrowed<IOScheduler>(word: raw).object
    return scheduler.engine == Engine.shared ? scheduler : nil
  }

  /// One thread makes it, the others wait: it is never freed. A lock would do, if no fork could copy it while it is held.
  @inline(never)
  private static func makeSlow() -> IOScheduler {
    if let world = World.current { return ofRun(world) }
    let engine = Engine.shared
    // relaxed: decides which thread makes the scheduler, which is published by `instance`.
    let seen = maker.load(ordering: .relaxed)
    if seen != UInt(bitPattern: engine),
      maker.compareExchange(expected: seen, desired: UInt(bitPattern: engine), ordering: .relaxed).exchanged
    {
      let scheduler = IOScheduler(engine)
      Immortal.grant(scheduler)
      let raw = Owned(scheduler).intoWord()
      // pairs with: existing – publishes the scheduler
      instance.store(raw, ordering: .releasing)
      return scheduler
    }
    var backoff = Backoff()
    while true {
      if let existing { return existing }
      backoff.wait()
    }
  }

  private static func ofRun(_ world: World.Functions) -> IOScheduler {
    if let raw = world.ioScheduler { return Borrowed<IOScheduler>(word: raw).object }
    let scheduler = IOScheduler(Engine.shared)
    World.goBeyondOrders(.kernel)
    Immortal.grant(scheduler)
    world.ioScheduler = Owned(scheduler).intoWord()
    return scheduler
  }

  /// The run is over, and its channels have done what they do.
  static func endRun(_ world: World.Functions) {
    guard let raw = world.ioScheduler else { return }
    world.ioScheduler = nil
    Borrowed<IOScheduler>(word: raw).use { scheduler in
      // The engine keeps its descriptors while one is watched.
      if let watch = scheduler.watch { _ = Engine.current.poller.unwatch(watch) }
      scheduler.abandon(inChild: false)
    }
  }

  /// In a forked child: the ring is the parent's. It is closed now, while its number is certain.
  @_optimize(size)
  static func beginInChild() {
    // relaxed: there is no other thread.
    guard let raw = instance.load(ordering: .relaxed) else { return }
    Borrowed<IOScheduler>(word: raw).use { $0.abandon(inChild: true) }
  }

  /// In a forked child, and at the end of a run. No other thread is left that could hold the lock.
  private func abandon(inChild: Bool) {
    ring?.pointee.close(inChild: inChild)
    ring = nil
  }

  // MARK: Choice

  /// Guarded by `lock`.
  @_optimize(size)
  private func choose() {
    if hasChosen || !Shortages.rings.mayAsk { return }
    hasChosen = true
    let wanted = Environment.value(of: "GRANDCENTRAL_IO") ?? []
    if Text.equal(wanted[...], "threads") { return }
    var error: Errno?
    guard let made = IORing(entries: Self.mostInRing, or: &error) else {
      if let error, error.isShortage { return chooseLater(error) }
      if Text.equal(wanted[...], "uring") {
        Fault.report("GRANDCENTRAL_IO asks for io_uring, which the kernel does not give; helpers read.")
      }
      return
    }
    // unsafe: both live as long as the scheduler: for ever.
    let ring = UnsafeMutablePointer<IORing>.allocate(capacity: 1)
    let descriptor = made.descriptor
    ring.initialize(to: made)
    let watch = DescriptorWatch.Pointer.allocate(capacity: 1)
    watch.initialize(
      to: DescriptorWatch(
        descriptor, .readable, context: Borrowed(self).word, report: IOScheduler.completed))
    let result = engine.pointee.poller.watch(watch, in: engine.pointee)
    if result != .watched {
      // No thread would hear of completions: helpers do it.
      FileReading.close(descriptor)
      if case .failed(let error) = result, error.isShortage { chooseLater(error) }
      return
    }
    Shortages.rings.granted()
    self.ring = ring
    self.watch = watch
  }

  /// Guarded by `lock`: helpers do it for now; a later request asks again.
  private func chooseLater(_ error: Errno) {
    hasChosen = false
    Shortages.rings.refused(error, isReported: false)
  }

  // MARK: Requests

  /// Carries out a request later, on another thread or none.
  func start(_ request: IORequest) {
    lock.lock()
    let takesRing = request.takesRing
    if takesRing { choose() }
    if !takesRing || ring == nil {
      let isNeeded = appendForHelpers(request)
      lock.unlock()
      if isNeeded { sendHelper() }
      return
    }
    var isNeeded = false
    if inRing < Self.mostInRing { isNeeded = submit(request) } else { ringBacklog.append(request) }
    lock.unlock()
    if isNeeded { sendHelper() }
  }

  /// Guarded by `lock`. True if the kernel does not take it, and one more helper is to be sent for it.
  private func submit(_ request: IORequest) -> Bool {
    guard let ring else { return appendForHelpers(request) }
    let reference = Owned(request).give()
    let token = UInt64(reference.bits)
    inRing += 1
    if ring.pointee.submit(
      writes: request.writes, request.file.rawDescriptor, request.spans, request.count, at: request.offset, token: token
    ) {
      return false
    }
    inRing -= 1
    reference.giveBack()
    return appendForHelpers(request)
  }

  /// With the descriptor table's lock held.
  private static let completed: DescriptorWatch.Report = { context, happened in
    if happened == DescriptorWatch.gone { return false }
    let job = Job(invoke: IOScheduler.reap, band: .normal, owner: context)
    Engine.current.submitUnordered(job)
    return false
  }

  private static let reap: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the scheduler is never freed.
    let scheduler = Borrowed<IOScheduler>(word: job.owner!).object
    job.recycle()
    scheduler.takeCompletions()
  }

  /// One job at a time: the watch is silent until it is armed again.
  private func takeCompletions() {
    guard let (ring, watch) = lock.withLock({ ring.flatMap { ring in watch.map { (ring, $0) } } }) else { return }
    while let completion = ring.pointee.take() {
      // unsafe: `submit` has made the token from a retained request.
      let request = Owned<IORequest>(bits: UInt(completion.token)).take()
      let isRefused = request.isRefused(completion.result)
      lock.lock()
      inRing -= 1
      var needed = isRefused && appendForHelpers(request) ? 1 : 0
      // One that the kernel does not take leaves its place to the next: none waits while there is room.
      while inRing < Self.mostInRing, let next = ringBacklog.popFirst() { if submit(next) { needed += 1 } }
      lock.unlock()
      for _ in 0..<needed { sendHelper() }
      if !isRefused { request.complete(completion.result) }
    }
    engine.pointee.poller.rearm(watch)
  }

  // MARK: Helpers

  /// Guarded by `lock`. Whether one more helper is to be sent.
  private func appendForHelpers(_ request: IORequest) -> Bool {
    backlog.append(request)
    if helpers == Self.mostHelpers { return false }
    helpers += 1
    return true
  }

  private func sendHelper() {
    let job = Job(invoke: IOScheduler.help, band: .normal, owner: Borrowed(self).word)
    // Items that wait for their data may have taken all threads that begin items.
    engine.pointee.submitBehind(job)
  }

  private static let help: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the scheduler is never freed.
    let scheduler = Borrowed<IOScheduler>(word: job.owner!).object
    job.recycle()
    while let request = scheduler.nextForHelper() {
      let wait = Blocking.begin()
      request.perform()
      wait.end()
    }
  }

  private func nextForHelper() -> IORequest? {
    lock.withLock {
      let request = backlog.popFirst()
      if request == nil { helpers -= 1 }
      return request
    }
  }
}
