// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A number with three significant digits, or as many as it has before the point.
public func short(_ value: Double) -> String {
  let digits = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 3
  return fixed(value, digits)
}

public func fixed(_ value: Double, _ digits: Int) -> String {
  var scale = 1
  for _ in 0..<digits { scale *= 10 }
  let scaled = Int((abs(value) * Double(scale)).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  if digits == 0 { return sign + String(scaled) }
  let fraction = String(scaled % scale)
  return sign + "\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
}

/// A duration in the unit that suits it.
public func duration(_ nanoseconds: Double) -> String {
  switch nanoseconds {
  case ..<10_000: short(nanoseconds) + " ns"
  case ..<10_000_000: short(nanoseconds / 1000) + " us"
  default: short(nanoseconds / 1_000_000) + " ms"
  }
}

/// A figure in the unit that the name of its row tells: bytes, a count, or a duration.
public func quantity(_ value: Double, of row: String) -> String {
  if row.hasSuffix(".bytes") { return short(value) + " B" }
  if row.hasSuffix(".wakeups") { return short(value) + "/s" }
  if row.hasPrefix("N.threads") { return short(value) }
  return duration(value)
}

public func left(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

public func right(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
