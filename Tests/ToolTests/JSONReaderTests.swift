// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

@Suite("JSONReader")
struct JSONReaderTests {
  @Test("reads what is JSON")
  func values() throws {
    let text = #" {"a" : [1, -2.5, true, false, null, {}, []], "b\n\u00e9\ud83d\ude00": "c\\\"\/", "b": "twice"} "#
    let value = try #require(JSONValue(Array(text.utf8)))
    let line = #"{"a":[1,-2.500,true,false,{},{},[]],"b\né😀":"c\\\"/","b":"twice"}"#
    #expect(value.line == line)
    #expect(value["b"]?.string == "twice")
    #expect(value["a"]?.array?.count == 7)
    #expect(value["c"] == nil)
    #expect(value["a"]?["b"] == nil)
  }

  @Test(
    "reads nothing else",
    arguments: [
      "", "{", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}", "\"a", "\"\\x\"", "\"\\ud83d\"", "\"\\u12\"", "nul",
      "1 2",
      "\"\n\"", "--1", String(repeating: "[", count: 100_000),
    ])
  func malformed(text: String) {
    #expect(JSONValue(Array(text.utf8)) == nil)
  }

  @Test("never reads beyond the end")
  func truncated() {
    let text = Array(#"{"targets":[{"name":"A","sources":["a.swift","\u00e9\ud83d\ude00"]}],"n":12}"#.utf8)
    for length in text.indices { #expect(JSONValue(Array(text[..<length])) == nil) }
    #expect(JSONValue(text) != nil)
  }
}
