// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Contract F1: one line with the id, what was called, on which queue, why that is wrong and what to do.
func expectFault(
  _ result: ExitTest.Result?, _ id: String, mentions: String..., location: SourceLocation = #_sourceLocation
) {
  guard let result else { return }
  let text = String(decoding: result.standardErrorContent, as: UTF8.self)
  expectFault(text, id, mentions: mentions, location: location)
}

func expectFault(_ text: String, _ id: String, mentions: [String], location: SourceLocation = #_sourceLocation) {
  let lines = text.split(separator: "\n").filter { $0.hasPrefix("GrandCentral") }
  #expect(lines.count == 1, "one line explains: \(text)", sourceLocation: location)
  guard let line = lines.first else { return }
  #expect(line.hasPrefix("GrandCentral misuse [\(id)]: "), "\(line)", sourceLocation: location)
  for mention in mentions {
    #expect(line.contains(mention), "\"\(mention)\" is missing in: \(line)", sourceLocation: location)
  }
  let sentences = line.split(separator: ". ")
  #expect(sentences.count >= 2 && line.hasSuffix("."), "the remedy is missing in: \(line)", sourceLocation: location)
}
