// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("gcd top --web")
struct WebTests {
  private func read(_ text: String) -> WebRequest.Reading { WebRequest.read(Array(text.utf8)) }

  @Test("a request is read when its head is whole, whatever it says")
  func requests() {
    let whole = "GET /token/?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    #expect(read(whole) == .request(WebRequest(method: "GET", path: "/token/")))
    for length in 0..<whole.utf8.count { #expect(WebRequest.read(Array(whole.utf8.prefix(length))) == .incomplete) }
    for line in ["", "GET", "GET /", "GET / HTTP/2", "GET http://x/ HTTP/1.1", "GET  / HTTP/1.1", "\r"] {
      #expect(read(line + "\r\n\r\n") == .refused, "\(line)")
    }
    #expect(WebRequest.read([UInt8](repeating: 0x41, count: WebRequest.mostBytes + 1)) == .refused)
    #expect(WebRequest.read([0x47, 0xff, 0x0d, 0x0a, 0x0d, 0x0a]) == .refused)
  }

  /// What the server sends to a client that has sent `text`, until it closes, or until `isEnough`.
  private func answer(
    _ server: WebServer, _ text: String, json: String = "{}", until isEnough: ((String) -> Bool)? = nil,
    also: () -> Void = {}
  ) throws -> String {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(client) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = server.port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
    _ = send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    _ = fcntl(client, F_SETFL, O_NONBLOCK)
    let content = WebServer.Content(page: { WebPage.text }, event: { "first" }, json: { json })
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      server.serve(milliseconds: 10, content)
      also()
      let count = Glibc.read(client, &buffer, buffer.count)
      if count == 0 { break }
      if count > 0 { bytes += buffer[..<count] }
      if count < 0, errno != EAGAIN { break }
      if let isEnough, isEnough(String(decoding: bytes, as: UTF8.self)) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("it answers requests that have the token, with a page that asks no other server, and tells others nothing")
  func answers() throws {
    let server = try WebServer(port: 0)
    #expect(server.token.count == 32 && server.address.hasSuffix("/\(server.token)/"))
    #expect(try WebServer(port: 0).token != server.token)
    func get(_ path: String, _ method: String = "GET") throws -> String {
      try answer(server, "\(method) \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
    }
    let page = try get("/\(server.token)/")
    #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.hasSuffix("</html>\n\n") || page.hasSuffix("</html>\n"))
    #expect(page.contains("Content-Security-Policy: default-src 'none';"))
    #expect(!WebPage.text.contains("http://") && !WebPage.text.contains("https://"))
    #expect(try get("/\(server.token)/json").hasSuffix("\r\n\r\n{}"))
    for path in [
      "/", "/json", "/events", "/\(server.token)", "/\(server.token)/other", "/0\(server.token.dropFirst())x/",
    ] {
      let refused = try get(path)
      #expect(refused.hasPrefix("HTTP/1.1 404 ") && !refused.contains("{}"), "\(path)")
    }
    #expect(try get("/\(server.token)/", "POST").hasPrefix("HTTP/1.1 405 "))
    #expect(try answer(server, "nonsense\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
    let many = String(repeating: "x", count: WebRequest.mostBytes + 4096)
    #expect(try answer(server, many).hasPrefix("HTTP/1.1 400 "))
  }

  @Test("an answer is sent whole, however long it is")
  func longAnswer() throws {
    let server = try WebServer(port: 0)
    let long = String(repeating: "x", count: 16 << 20)
    let text = try answer(server, "GET /\(server.token)/json HTTP/1.1\r\n\r\n", json: long)
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.utf8.count > 16 << 20)
  }

  @Test("a stream begins with the newest event, and gets those that follow")
  func streams() throws {
    let server = try WebServer(port: 0)
    var count = 0
    let text = try answer(
      server, "GET /\(server.token)/events HTTP/1.1\r\n\r\n", until: { $0.contains("data: event 3\n\n") }
    ) {
      guard server.hasStreams else { return }
      count += 1
      server.send(event: "event \(count)")
    }
    #expect(text.contains("Content-Type: text/event-stream"))
    #expect(text.contains("\r\n\r\ndata: first\n\ndata: event 1\n\ndata: event 2\n\ndata: event 3\n\n"))
    // The client has gone.
    let content = WebServer.Content(page: { "" }, event: { nil }, json: { "" })
    while server.hasStreams {
      server.send(event: "event")
      server.serve(milliseconds: 10, content)
    }
  }

  @Test("a port that is taken is refused")
  func taken() throws {
    let server = try WebServer(port: 0)
    #expect(throws: WebServer.Failure.self) { try WebServer(port: server.port) }
  }

  @Test("the page gets every table of the screen, on one line")
  func model() throws {
    var snapshot = sample([waiting(100, .queue, 0xa, "first\nline", role: .main)], [queue(1, "<b>", 0xa)])
    snapshot.program.name = "program"
    let model = TopModel(snapshot: snapshot, report: WhyAnalysis.report(snapshot))
    let line = WebModel.value(model).line
    #expect(!line.contains("\n"))
    let json = try JSON.parse(line)
    #expect(json["pages"]?.array?.map { $0["title"]?.string } == ["Queues", "Threads", "Waits", "Sources"])
    let first = json["pages"]?.array?.first
    #expect(first?["rows"]?.array?.first?.array?.first?.array?.first?.string == "<b>")
    #expect(first?["more"]?.number == 0)
    #expect(json["findings"]?.array?.isEmpty == false && json["title"]?.string == "100 program")
  }

  @Test("of very many queues those with the longest latency are sent")
  func manyQueues() throws {
    let count = WebModel.mostRows + 500
    let snapshot = sample([], (1...count).map { queue($0, "queue \($0)", UInt64($0)) })
    var rates = TopRates()
    rates.length = second
    rates.queues[count] = .init(items: 1)
    rates.queues[count]?.latency.add(second)
    let model = TopModel(snapshot: snapshot, report: WhyAnalysis.report(snapshot), rates: rates)
    let page = try JSON.parse(WebModel.value(model).line)["pages"]?.array?.first
    #expect(page?["rows"]?.array?.count == WebModel.mostRows && page?["more"]?.number == 500)
    #expect(page?["rows"]?.array?.first?.array?.first?.array?.first?.string == "queue \(count)")
  }
}
