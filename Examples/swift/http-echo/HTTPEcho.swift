// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A server that answers each request with the request's own body; and a client that opens many connections to it.
//
//   swift run -c release http-echo serve [PORT]            says "port N"; PORT 0, or none, is any that is free
//   swift run -c release http-echo load PORT [COUNT]       COUNT connections, all of them open at the same time
//
// Shows: read and write sources on sockets that never block. 10,000 connections need 10,000 small objects and a few threads.
// Server.swift and Client.swift have the two halves.

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

@main
enum HTTPEcho {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments
    let number = arguments.count > 2 ? Int(arguments[2]) : 0
    switch (arguments.dropFirst().first, number) {
    case ("serve", .some(let port)):
      _ = mostDescriptors()
      let server = Server(port: UInt16(port))
      print("port \(server.port)")
      fflush(nil)
      dispatchMain()
    case ("load", .some(let port)) where port > 0:
      let wanted = arguments.count > 3 ? Int(arguments[3]) ?? 10_000 : 10_000
      // What the program has open besides: standard streams, and what the library waits with.
      let count = min(wanted, mostDescriptors() - 64)
      if count < wanted { print("the limit on descriptors permits \(count) connections, not \(wanted)") }
      Load(port: UInt16(port), count: count).start()
      dispatchMain()
    default:
      print("usage: http-echo serve [PORT] | load PORT [COUNT]")
      exit(2)
    }
  }

  /// Raises the limit on open files as far as it goes, and returns it.
  private static func mostDescriptors() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
  }
}

/// A socket. It is closed when nobody uses it any more: a source's cancel handler holds it, so no source outlives it.
final class Socket: Sendable {
  let descriptor: Int32

  /// Takes over a descriptor.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { close(descriptor) }

  static func stream() -> Socket {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if descriptor < 0 { die("socket") }
    return Socket(descriptor)
  }

  /// Appends what has come to `bytes`. False at the end of the stream, and after an error.
  func receive(into bytes: inout [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count > 0 { bytes += buffer[..<count] } else { return count < 0 && errno == EAGAIN }
    }
  }

  /// Takes away what could be sent from the beginning of `bytes`. False after an error.
  func send(from bytes: inout ArraySlice<UInt8>) -> Bool {
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 { return errno == EAGAIN }
      bytes = bytes.dropFirst(count)
    }
    return true
  }
}

/// What stands before the body of a request or an answer.
struct Head {
  let length: Int
  let contentLength: Int
  let closes: Bool

  /// Nil as long as the head is not complete. A length that is none counts as -1.
  init?(_ bytes: [UInt8]) {
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: "\r\n\r\n".utf8) }) else { return nil }
    length = end + 4
    var fields: [String: Substring] = [:]
    for line in String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon].lowercased()] = line[line.index(after: colon)...].drop { $0 == " " }
    }
    contentLength = fields["content-length"].map { UInt32($0).map(Int.init) ?? -1 } ?? 0
    closes = fields["connection"]?.lowercased() == "close"
  }
}

/// The address of a port on this machine, as the functions of sockets want it.
func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}

func die(_ what: String) -> Never {
  perror("http-echo: \(what)")
  exit(EXIT_FAILURE)
}

/// A queue for each processor: connections share them, and each connection is touched on one of them only.
let queues = (0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { DispatchQueue(label: "http-echo.\($0)") }
