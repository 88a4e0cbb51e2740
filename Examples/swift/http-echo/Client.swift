// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

/// Opens all connections, then asks on all of them, then prints what came of it.
final class Load: @unchecked Sendable {  // why: the variables are touched on `queue` only
  private let queue = DispatchQueue(label: "http-echo.load")
  /// So many connections are being opened at a time; the server's backlog is not endless.
  private let permits = DispatchSemaphore(value: 256)
  private let calls: [Call]
  private var wrong = 0

  init(port: UInt16, count: Int) {
    calls = (0..<count).map { Call(number: $0, port: port, queue: queues[$0 % queues.count]) }
  }

  func start() {
    let opening = DispatchGroup()
    // It waits for permits, on a queue of its own.
    DispatchQueue(label: "http-echo.opening").async(group: opening) {
      for call in self.calls {
        self.permits.wait()
        opening.enter()
        call.open {
          self.permits.signal()
          opening.leave()
        }
      }
    }
    opening.notify(queue: queue) { self.askAll() }
  }

  /// All connections are open.
  private func askAll() {
    let asking = DispatchGroup()
    for call in calls {
      asking.enter()
      call.ask { isRight in
        self.queue.async {
          if !isRight { self.wrong += 1 }
          asking.leave()
        }
      }
    }
    asking.notify(queue: queue) {
      print(
        "\(self.calls.count) connections at the same time, \(self.calls.count - self.wrong) right answers, \(self.wrong) wrong"
      )
      exit(self.wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }
}

/// One connection, with one request.
private final class Call: @unchecked Sendable {  // why: the variables are touched on `queue` only
  private let number: Int
  private let port: UInt16
  private let queue: DispatchQueue
  private var socket: Socket?
  private var input: [UInt8] = []

  init(number: Int, port: UInt16, queue: DispatchQueue) {
    self.number = number
    self.port = port
    self.queue = queue
  }

  /// Connects. A socket that does not block can be written to once it is connected: a write source tells.
  func open(_ then: @escaping @Sendable () -> Void) {
    queue.async {
      let socket = Socket.stream()
      self.socket = socket
      if withLoopback(self.port, { connect(socket.descriptor, $0, $1) }) != 0, errno != EINPROGRESS { die("connect") }
      let source = DispatchSource.makeWriteSource(fileDescriptor: socket.descriptor, queue: self.queue)
      source.setEventHandler {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        errno = error
        if error != 0 { die("connect") }
        source.cancel()
      }
      source.setCancelHandler { then() }
      source.activate()
    }
  }

  /// Sends the request, and says whether the answer is its body.
  func ask(_ then: @escaping @Sendable (_ isRight: Bool) -> Void) {
    queue.async {
      guard let socket = self.socket else { return then(false) }
      let body = Array("This is connection \(self.number).".utf8)
      let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n"
      var request = (Array(head.utf8) + body)[...]
      // So little always has room in a new socket's buffer.
      guard socket.send(from: &request), request.isEmpty else { return then(false) }
      let source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: self.queue)
      source.setEventHandler {
        // The server closes: then the answer is complete.
        if !socket.receive(into: &self.input) { source.cancel() }
      }
      source.setCancelHandler {
        self.socket = nil
        let isRight = Head(self.input).map { self.input[$0.length...].elementsEqual(body) } ?? false
        then(isRight && self.input.starts(with: "HTTP/1.1 200 ".utf8))
      }
      source.activate()
    }
  }
}
