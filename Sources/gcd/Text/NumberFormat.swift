// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension UInt64 {
  /// The sum, or the largest number: what another process says may be anything.
  func addingOrMost(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

/// Numbers as people read them.
package enum NumberFormat {
  /// 1234567 as "1,234,567".
  package static func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// Three digits that matter: "1.23", "12.3", "123".
  package static func significant(_ value: Double) -> String {
    fixed(value, decimals: value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
  }

  /// A number with a given number of decimals, rounded; not a number or beyond all bounds is "0".
  package static func fixed(_ value: Double, decimals: Int) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let scaled = (value * scale).rounded()
    guard scaled.isFinite, scaled.magnitude < 1e18 else { return "0" }
    let digits = String(Int(scaled.magnitude))
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.utf8.count)) + digits
    let sign = scaled < 0 ? "-" : ""
    if decimals == 0 { return sign + padded }
    return sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
  }

  /// A time as "0.35 ms", "12.3 ms", "1.23 s" or "2 min 05 s".
  package static func duration(_ seconds: Double) -> String {
    if seconds < 0.9995 { return significant(seconds * 1000) + " ms" }
    if seconds < 99.95 { return significant(seconds) + " s" }
    let whole = Int(seconds.rounded())
    return "\(whole / 60) min \(whole % 60 < 10 ? "0" : "")\(whole % 60) s"
  }
}
