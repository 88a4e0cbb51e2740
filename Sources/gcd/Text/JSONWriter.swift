// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A JSON value; objects keep the order of their members.
package enum JSONValue {
  case integer(Int)
  case count(UInt64)
  /// Written with three decimals.
  case number(Double)
  case string(String)
  case bool(Bool)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// The value as text, indented, without a line feed at its end.
  package var text: String {
    var output = ""
    write(to: &output, indent: "")
    return output
  }

  /// The value as text without a line feed in it.
  package var line: String {
    switch self {
    case .array(let values): return "[" + values.map { $0.line }.joined(separator: ",") + "]"
    case .object(let members):
      return "{" + members.map { JSONValue.string($0.0).text + ":" + $0.1.line }.joined(separator: ",") + "}"
    default: return text
    }
  }

  private func write(to output: inout String, indent: String) {
    switch self {
    case .integer(let value): output += String(value)
    case .count(let value): output += String(value)
    case .number(let value): output += NumberFormat.fixed(value, decimals: 3)
    case .bool(let value): output += value ? "true" : "false"
    case .string(let value): Self.write(value, to: &output)
    case .array(let values):
      Self.write(values, brackets: ("[", "]"), to: &output, indent: indent) { value, output, inner in
        value.write(to: &output, indent: inner)
      }
    case .object(let members):
      Self.write(members, brackets: ("{", "}"), to: &output, indent: indent) { member, output, inner in
        Self.write(member.0, to: &output)
        output += ": "
        member.1.write(to: &output, indent: inner)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], brackets: (String, String), to output: inout String, indent: String,
    each: (Element, inout String, String) -> Void
  ) {
    output += brackets.0
    for (index, element) in elements.enumerated() {
      output += index == 0 ? "\n" : ",\n"
      output += indent + "  "
      each(element, &output, indent + "  ")
    }
    if !elements.isEmpty { output += "\n" + indent }
    output += brackets.1
  }

  private static func write(_ text: String, to output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      case "\0"..."\u{1F}", "\u{7F}": output += escape(scalar)
      default: output.unicodeScalars.append(scalar)
      }
    }
    output += "\""
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
  }
}
