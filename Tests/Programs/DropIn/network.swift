// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: URLSession, against a server on descriptor sources of the same library. Only the loopback address is used.
import Dispatch
import Foundation
import FoundationNetworking

/// Answers each request of HTTP/1.1 and closes: /echo with the body, /slow never, else with the path.
final class Server: @unchecked Sendable {  // immutable
  let port: UInt16
  /// A request for /slow has come.
  static let isAsked = AsyncStream.makeStream(of: Void.self)
  private let listener: any DispatchSourceRead

  init() {
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listening, address, length) == 0 && listen(listening, 64) == 0
          && getsockname(listening, address, &length) == 0
      }
    }
    precondition(bound)
    port = UInt16(bigEndian: address.sin_port)
    let work = DispatchQueue(label: "server")
    listener = DispatchSource.makeReadSource(fileDescriptor: listening, queue: work)
    listener.setEventHandler {
      let connection = accept(listening, nil, nil)
      if connection >= 0 { Self.serve(connection, work) }
    }
    listener.activate()
  }

  private static func serve(_ connection: Int32, _ queue: DispatchQueue) {
    nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: connection, queue: queue)
    nonisolated(unsafe) var request = Data()
    source.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return source.cancel() }
      request.append(contentsOf: buffer[..<count])
      guard let answer = answer(to: request) else { return }
      answer.withUnsafeBytes { _ = write(connection, $0.baseAddress!, $0.count) }
      source.cancel()
    }
    source.setCancelHandler { close(connection) }
    source.activate()
  }

  /// Nil if the request is not complete, or is to be left without an answer.
  private static func answer(to request: Data) -> Data? {
    guard let end = request.range(of: Data("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: request[..<end.lowerBound], as: UTF8.self)
    let lines = head.split(separator: "\r\n")
    let path = lines[0].split(separator: " ")[1]
    if path == "/slow" {
      Server.isAsked.continuation.yield()
      return nil
    }
    var body = Data(path.utf8)
    if path == "/echo" {
      let length =
        lines.first { $0.lowercased().hasPrefix("content-length:") }
        .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) } ?? 0
      body = request[end.upperBound...]
      if body.count < length { return nil }
    }
    let status = path == "/missing" ? "404 Not Found" : "200 OK"
    return Data("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n".utf8) + body
  }
}

@main struct Program {
  static func main() async throws {
    let server = Server()
    let base = "http://127.0.0.1:\(server.port)"
    let settings = URLSessionConfiguration.ephemeral
    settings.timeoutIntervalForRequest = 30
    let session = URLSession(configuration: settings)
    func text(_ path: String) async throws -> String {
      let (data, response) = try await session.data(from: URL(string: base + path)!)
      return "\((response as! HTTPURLResponse).statusCode) \(String(decoding: data, as: UTF8.self))"
    }
    print(try await text("/one"))
    print(try await text("/missing"))
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<30 { group.addTask { try await text("/\(number)").hasSuffix("/\(number)") ? 1 : 0 } }
      return try await group.reduce(0, +)
    }
    print("thirty at once:", sum)

    var request = URLRequest(url: URL(string: base + "/echo")!)
    request.httpMethod = "POST"
    let body = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let (echo, _) = try await session.upload(for: request, from: body)
    print("echo:", echo == body)

    let task = Task { try await text("/slow") }
    for await _ in Server.isAsked.stream { break }
    task.cancel()
    do { print(try await task.value) } catch { print("cancelled:", (error as? URLError)?.code == .cancelled) }

    let short = URLSessionConfiguration.ephemeral
    short.timeoutIntervalForRequest = 1
    do {
      _ = try await URLSession(configuration: short).data(from: URL(string: base + "/slow")!)
    } catch { print("timeout:", (error as? URLError)?.code == .timedOut) }

    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      session.dataTask(with: URL(string: base + "/handler")!) { data, _, error in
        print("handler:", String(decoding: data ?? Data(), as: UTF8.self), error == nil)
        done.resume()
      }.resume()
    }
  }
}
