// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a browser asks for: the first line of a request, and whether all of its head is there.
struct WebRequest: Equatable, Sendable {
  var method: String
  var path: String

  /// The longest head. A browser's is a few hundred bytes.
  static let mostBytes = 16_384

  enum Reading: Equatable, Sendable {
    case incomplete
    case request(WebRequest)
    case refused
  }

  /// Reads what has come so far. So many bytes of it have been looked at before, and were no whole head.
  static func read(_ bytes: [UInt8], after known: Int = 0) -> Reading {
    guard let end = endOfHead(bytes, from: max(0, known - 3)) else {
      return bytes.count > mostBytes ? .refused : .incomplete
    }
    let line = bytes[..<end].prefix { $0 != 0x0d && $0 != 0x0a }
    guard let text = String(validating: line, as: UTF8.self) else { return .refused }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1."), words[1].hasPrefix("/") else { return .refused }
    let path = words[1].prefix { $0 != "?" }
    return .request(WebRequest(method: String(words[0]), path: String(path)))
  }

  /// An empty line ends it.
  private static func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
    guard bytes.count >= start + 4 else { return nil }
    return (start...(bytes.count - 4)).first {
      bytes[$0] == 0x0d && bytes[$0 + 1] == 0x0a && bytes[$0 + 2] == 0x0d && bytes[$0 + 3] == 0x0a
    }
  }
}

/// What is sent back.
enum WebAnswer {
  /// A whole answer; the connection ends with it.
  static func bytes(_ status: String, _ type: String, _ body: String) -> [UInt8] {
    head(status, type, "Content-Length: \(body.utf8.count)\r\n") + Array(body.utf8)
  }

  /// The head of an answer that goes on.
  static var stream: [UInt8] { head("200 OK", "text/event-stream", "") }

  /// An event of a stream; the text has no line feed.
  static func event(_ text: String) -> [UInt8] { Array("data: \(text)\n\n".utf8) }

  /// Nothing is kept by the browser, nothing is told to other sites, and nothing but this server is asked.
  private static func head(_ status: String, _ type: String, _ more: String) -> [UInt8] {
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"
    let lines = [
      "HTTP/1.1 \(status)", "Content-Type: \(type); charset=utf-8", "Cache-Control: no-store", "Connection: close",
      "Content-Security-Policy: \(policy)", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
    ]
    return Array((lines.joined(separator: "\r\n") + "\r\n" + more + "\r\n").utf8)
  }
}
