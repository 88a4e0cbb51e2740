// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

// A worker blocks where the engine cannot see it while its slot holds the very job that would end the wait. Meant for
// a pool of two.
extension Scenario {
  static let watching: [String: Body] = [
    "blocker-found-beside-its-rescuer": blockerFoundBesideRescuer, "blocker-with-surplus-watcher": surplusWatcher,
    "server-on-the-same-pool": serverOnTheSamePool,
  ]

  /// The poller's worker hears of one event for two sources. The more urgent handler waits for the other one, which lies in
  /// the slot of the worker that runs it: the watch that was listed last is told first.
  @Sendable private static func blockerFoundBesideRescuer() {
    let modest = DispatchQueue(label: "modest", qos: .utility)
    let urgent = DispatchQueue(label: "urgent", qos: .userInteractive)
    for round in 0..<20 {
      guard let ends = Kernel.closeOnExecPipe() else { return complain("no pipe: \(errno)") }
      let (rescued, ended) = (Latch(), Latch(3))
      let rescuer = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: modest)
      rescuer.setEventHandler { [unowned rescuer] in
        rescued.open()
        rescuer.cancel()
      }
      let blocker = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: urgent)
      blocker.setEventHandler { [unowned blocker] in
        require(rescued.wait(), "round \(round): the other handler ran")
        blocker.cancel()
        ended.open()
      }
      for source in [rescuer, blocker] {
        source.setCancelHandler { ended.open() }
        source.activate()
      }
      var byte: UInt8 = 0
      require(write(ends.writeEnd, &byte, 1) == 1, "a byte was written")
      require(ended.wait(), "round \(round) ended")
      for end in [ends.readEnd, ends.writeEnd] { close(end) }
    }
    report("rounds", 20)
  }

  /// A worker comes back from a wait while another naps as the watcher: from then on there is one worker too many. Then both
  /// busy workers block, one of them with a full slot.
  @Sendable private static func surplusWatcher() {
    for round in 0..<10 {
      let (gate, waits, isBack) = (DispatchSemaphore(value: 0), Latch(), Latch())
      let (rescued, isOver, ended) = (Latch(), Latch(), Latch())
      let queue = DispatchQueue(label: "behind")
      DispatchQueue.global().async {
        waits.open()
        gate.wait()
        isBack.open()
        _ = isOver.wait()
        ended.open()
      }
      require(waits.wait(), "round \(round): the first item runs")
      DispatchQueue.global().async {
        // The worker that takes this out of the slot is the watcher, and stays it for some naps.
        let taken = Latch()
        queue.async { taken.open() }
        while !taken.isOpen {}
        gate.signal()
        while !isBack.isOpen {}
        queue.async { rescued.open() }
        require(rescued.wait(), "round \(round): the queue ran")
        isOver.open()
      }
      require(ended.wait(), "round \(round) ended")
    }
    report("rounds", 10)
  }

  /// A server whose items block in `accept` and `read`, and clients of sources on a queue that is less urgent.
  @Sendable private static func serverOnTheSamePool() {
    guard let server = EchoServer() else { skip("no loopback address: \(errno)") }
    let (requests, done) = (Counter(), Latch())
    @Sendable func next() {
      if requests.add() > 100 { return done.open() }
      require(EchoClient.run(port: server.port, then: next), "a client was connected")
    }
    next()
    require(done.wait(), "\(requests.value) requests were served")
    report("requests", 100)
  }
}

/// Accepts in one item of a global queue, and serves each connection in another: it sends back what comes, to the end.
private struct EchoServer {
  let port: UInt16

  init?() {
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listening >= 0 else { return nil }
    let port = withLoopback(port: 0) { address, length in
      var length = length
      guard bind(listening, address, length) == 0, listen(listening, 64) == 0,
        getsockname(listening, address, &length) == 0
      else { return UInt16(0) }
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
    guard port != 0 else { return nil }
    self.port = port
    DispatchQueue.global().async {
      while true {
        let connection = accept(listening, nil, nil)
        if connection >= 0 { DispatchQueue.global().async { Self.serve(connection) } }
      }
    }
  }

  private static func serve(_ connection: Int32) {
    var buffer = [UInt8](repeating: 0, count: 256)
    while true {
      let count = read(connection, &buffer, buffer.count)
      if count <= 0 || write(connection, buffer, count) != count { break }
    }
    close(connection)
  }
}

/// Sends 64 bytes in two parts when there is room, and reads until they are back.
private enum EchoClient {
  private static let queue = DispatchQueue(label: "client", qos: .utility)

  static func run(port: UInt16, then next: @escaping @Sendable () -> Void) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return false }
    let connected = withLoopback(port: port) { connect(descriptor, $0, $1) == 0 || errno == EINPROGRESS }
    let (sent, received, ended) = (Counter(), Counter(), Counter())
    let writer = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    writer.setEventHandler { [unowned writer] in
      let part = [UInt8](repeating: 1, count: 32)
      if sent.add(max(0, write(descriptor, part, part.count))) >= 64 { writer.cancel() }
    }
    let reader = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    reader.setEventHandler { [unowned reader] in
      var buffer = [UInt8](repeating: 0, count: 64)
      if received.add(max(0, read(descriptor, &buffer, buffer.count))) >= 64 { reader.cancel() }
    }
    for source in [writer, reader] as [any DispatchSourceProtocol] {
      source.setCancelHandler {
        if ended.add() < 2 { return }
        close(descriptor)
        next()
      }
      source.activate()
    }
    return connected
  }
}

private func withLoopback<Result>(
  port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  return withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}
