// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

/// Accepts connections, and answers what comes on them.
final class Server: @unchecked Sendable {  // why: the counter is touched on the queue of `accepting` only
  let port: UInt16
  private let accepting: any DispatchSourceRead
  private var count = 0

  init(port: UInt16) {
    let socket = Socket.stream()
    var yes: Int32 = 1
    setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    if withLoopback(port, { bind(socket.descriptor, $0, $1) }) != 0 || listen(socket.descriptor, 4096) != 0 {
      die("listen")
    }
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.descriptor, $0, &length) }
    }
    self.port = UInt16(bigEndian: address.sin_port)

    accepting = DispatchSource.makeReadSource(
      fileDescriptor: socket.descriptor, queue: DispatchQueue(label: "http-echo.accepting"))
    // The handler keeps the server as long as the source is not cancelled.
    accepting.setEventHandler { self.acceptAll(socket) }
    accepting.activate()
  }

  /// One event may stand for many connections.
  private func acceptAll(_ socket: Socket) {
    while true {
      let descriptor = accept(socket.descriptor, nil, nil)
      // EAGAIN: that was all. A server that may run out of descriptors suspends the source for a while at EMFILE.
      guard descriptor >= 0 else { return }
      Connection(Socket(descriptor), queues[count % queues.count]).start()
      count += 1
    }
  }
}

/// One client's connection. Its sources' handlers keep it; when it cancels them, it is gone.
private final class Connection: @unchecked Sendable {  // why: the variables are touched on `queue` only
  private static let mostBytes = 1 << 20

  private let socket: Socket
  private let queue: DispatchQueue
  private let reading: any DispatchSourceRead
  /// There is one while the client takes its answers more slowly than they are made.
  private var writing: (any DispatchSourceWrite)?
  private var input: [UInt8] = []
  private var output: ArraySlice<UInt8> = []
  private var isAtEnd = false

  init(_ socket: Socket, _ queue: DispatchQueue) {
    self.socket = socket
    self.queue = queue
    reading = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
  }

  func start() {
    reading.setEventHandler { self.takeRequests() }
    reading.setCancelHandler { [socket] in withExtendedLifetime(socket) {} }
    reading.activate()
  }

  private func takeRequests() {
    isAtEnd = !socket.receive(into: &input)
    while let head = Head(input) {
      guard (0...Self.mostBytes).contains(head.contentLength) else { return refuse("400 Bad Request") }
      let length = head.length + head.contentLength
      if input.count < length { break }
      output += "HTTP/1.1 200 OK\r\nContent-Length: \(head.contentLength)\r\n\r\n".utf8
      output += input[head.length..<length]
      input.removeFirst(length)
      if head.closes {
        isAtEnd = true
        break
      }
    }
    if input.count > 2 * Self.mostBytes { return refuse("413 Content Too Large") }
    answer()
  }

  private func refuse(_ reason: String) {
    output += "HTTP/1.1 \(reason)\r\nContent-Length: 0\r\n\r\n".utf8
    input = []
    isAtEnd = true
    answer()
  }

  /// Sends what it can. A write source tells when there is room for the rest.
  private func answer() {
    if !socket.send(from: &output) { return end() }
    if output.isEmpty {
      writing?.cancel()
      writing = nil
      if isAtEnd { end() }
    } else if writing == nil {
      let source = DispatchSource.makeWriteSource(fileDescriptor: socket.descriptor, queue: queue)
      source.setEventHandler { self.answer() }
      source.setCancelHandler { [socket] in withExtendedLifetime(socket) {} }
      source.activate()
      writing = source
    }
    // Nothing more is read, so nothing tells again of the end that has come.
    if isAtEnd { reading.cancel() }
  }

  private func end() {
    writing?.cancel()
    writing = nil
    reading.cancel()
  }
}
