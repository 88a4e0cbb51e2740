// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A server on the loopback interface for one page and its events. A request with the token in its path is answered.
///
/// One thread has it all: what is slow is dropped, not waited for.
final class WebServer {
  let port: UInt16
  let token: String
  private let listener: Int32
  private var connections: [Connection] = []

  /// Fewer where the tool may have few descriptors: it needs some itself.
  private static let mostConnections: Int = {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 16 }
    return limit.rlim_cur >= 256 ? 64 : max(1, (Int(limit.rlim_cur) - 12) / 4)
  }()
  /// A browser that does not take its events for so long is left.
  private static let mostWaiting = 8 << 20
  /// A request that does not come is not waited for longer, in nanoseconds.
  private static let patience: UInt64 = 10_000_000_000

  private struct Connection {
    let descriptor: Int32
    let begun: UInt64
    var received: [UInt8] = []
    var waiting: [UInt8] = []
    /// It gets each event.
    var isStream = false
    /// It ends when everything has been sent.
    var isAnswered = false
  }

  struct Failure: Error {
    let code: Int32
  }

  /// What the server is asked for.
  struct Content {
    let page: () -> String
    /// The newest event, which a stream begins with; nil if there is none yet.
    let event: () -> String?
    let json: () -> String
  }

  /// - Parameter port: 0 for one that is free.
  init(port wanted: UInt16) throws(Failure) {
    // Before any property is set: an object that has all of them is closed by `deinit`, even if `init` throws then.
    let (listener, port) = try Self.listen(on: wanted)
    self.listener = listener
    self.port = port
    token = Self.makeToken()
  }

  /// A socket that listens, and its port. The socket is closed where this throws.
  private static func listen(on wanted: UInt16) throws(Failure) -> (socket: Int32, port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closesOnExec | O_NONBLOCK, 0)
    guard listener >= 0 else { throw Failure(code: errno) }
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = wanted.bigEndian
    // 127.0.0.1
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let size = length
    let code = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        guard bind(listener, address, size) == 0, Glibc.listen(listener, 16) == 0,
          getsockname(listener, address, &length) == 0
        else { return errno }
        return 0
      }
    }
    if code != 0 {
      close(listener)
      throw Failure(code: code)
    }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  deinit {
    for connection in connections { close(connection.descriptor) }
    close(listener)
  }

  private static let closesOnExec = Int32(SOCK_CLOEXEC.rawValue)

  /// 128 bits of the kernel's random numbers.
  private static func makeToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<16).map { _ in
      let byte = UInt8.random(in: 0...255, using: &generator)
      return (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  var address: String { "http://127.0.0.1:\(port)/\(token)/" }

  /// Whether a browser looks.
  var hasStreams: Bool { connections.contains { $0.isStream } }

  // MARK: Serving

  /// Answers what comes, for so long.
  func serve(milliseconds: Int32, _ content: Content) {
    var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    for connection in connections {
      let events = connection.waiting.isEmpty ? POLLIN : POLLIN | POLLOUT
      polled.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
    }
    guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return leaveLate() }
    for index in connections.indices where polled[index + 1].revents != 0 { receive(index, content) }
    if polled[0].revents != 0 { accept() }
    sendAll()
    leaveLate()
  }

  /// Sends an event to all browsers that look.
  func send(event text: String) {
    let bytes = WebAnswer.event(text)
    for index in connections.indices where connections[index].isStream { connections[index].waiting += bytes }
    sendAll()
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        // The connection stays where it is, and polling would tell of it at once again.
        if errno == EMFILE || errno == ENFILE { usleep(10_000) }
        return
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      if connections.count >= Self.mostConnections {
        close(descriptor)
        continue
      }
      connections.append(Connection(descriptor: descriptor, begun: RegionClock.now().uptime))
    }
  }

  private func receive(_ index: Int, _ content: Content) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(connections[index].descriptor, &buffer, buffer.count)
    if count <= 0 {
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      return leave(index)
    }
    if connections[index].isAnswered || connections[index].isStream { return }
    let known = connections[index].received.count
    connections[index].received += buffer[..<count]
    switch WebRequest.read(connections[index].received, after: known) {
    case .incomplete: return
    case .refused: answer(index, WebAnswer.bytes("400 Bad Request", "text/plain", "That is no request.\n"))
    case .request(let request): answer(index, request, content)
    }
  }

  private func answer(_ index: Int, _ request: WebRequest, _ content: Content) {
    guard request.method == "GET" else {
      return answer(index, WebAnswer.bytes("405 Method Not Allowed", "text/plain", "Only GET is understood.\n"))
    }
    switch request.path {
    case "/\(token)/": answer(index, WebAnswer.bytes("200 OK", "text/html", content.page()))
    case "/\(token)/json": answer(index, WebAnswer.bytes("200 OK", "application/json", content.json()))
    case "/\(token)/events":
      connections[index].isStream = true
      connections[index].waiting = WebAnswer.stream + (content.event().map(WebAnswer.event) ?? [])
    default: answer(index, WebAnswer.bytes("404 Not Found", "text/plain", "There is nothing here.\n"))
    }
  }

  private func answer(_ index: Int, _ bytes: [UInt8]) {
    connections[index].waiting = bytes
    connections[index].isAnswered = true
  }

  private func sendAll() {
    for index in connections.indices where !connections[index].waiting.isEmpty {
      let descriptor = connections[index].descriptor
      // A browser that has gone is an error to see, not a signal.
      let count = connections[index].waiting.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 { connections[index].waiting.removeFirst(count) }
      let isStuck = count < 0 && errno != EAGAIN && errno != EINTR
      let isDone = connections[index].isAnswered && connections[index].waiting.isEmpty
      // An answer is one, however long it is; events come again and again.
      let isBehind = connections[index].isStream && connections[index].waiting.count > Self.mostWaiting
      if isStuck || isDone || isBehind { leave(index) }
    }
    connections.removeAll { $0.descriptor < 0 }
  }

  private func leave(_ index: Int) {
    close(connections[index].descriptor)
    connections[index] = Connection(descriptor: -1, begun: 0)
  }

  private func leaveLate() {
    let now = RegionClock.now().uptime
    for index in connections.indices where connections[index].descriptor >= 0 && !connections[index].isStream {
      if now &- connections[index].begun > Self.patience { leave(index) }
    }
    connections.removeAll { $0.descriptor < 0 }
  }
}
