// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import Glibc

/// A horizontal bar for each row: the ratio on a logarithmic scale. Bars to the left of 1 are faster than libdispatch.
/// A dot shows where the best peer's bar would end.
struct Chart {
  private struct Bar {
    let name: String
    let ratio: Double
    /// The best peer's time relative to libdispatch, where a peer has the row.
    let peer: Double?
    var group: Character { name.first ?? "?" }
  }

  private let bars: [Bar]
  /// Powers of ten that the axis shows.
  private let lowest, highest: Int

  private let labelWidth = 280.0
  private let plotWidth = 550.0
  private let valueWidth = 70.0
  private let barHeight = 14.0
  private let pitch = 20.0
  private let gap = 10.0
  private let top = 64.0

  init(_ rows: [Row]) {
    bars = rows.compactMap { row in
      guard let ratio = row.ratio?.median, ratio > 0 else { return nil }
      return Bar(name: row.name, ratio: ratio, peer: row.peers.map { ratio / $0.best.ratio })
    }
    let exponents = bars.flatMap { [$0.ratio, $0.peer ?? $0.ratio] }.map(log10)
    lowest = min(-1, Int((exponents.min() ?? 0).rounded(.down)))
    highest = max(1, Int((exponents.max() ?? 0).rounded(.up)))
  }

  var text: String {
    var body = ""
    var y = top
    var group: Character?
    for bar in bars {
      if let group, group != bar.group { y += gap }
      group = bar.group
      body += draw(bar, at: y)
      y += pitch
    }
    let height = y + 34
    let width = labelWidth + plotWidth + valueWidth
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(fixed(width, 0)) \(fixed(height, 0))" \
      font-family="Helvetica, Arial, sans-serif" font-size="12">
      <title>Time of GrandCentral relative to libdispatch</title>
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text x="16" y="26" font-size="16" font-weight="bold" fill="#1f2933">Time relative to libdispatch</text>
      <text x="16" y="44" fill="#616e7c">Median of the ratios of all rounds, logarithmic; to the left of 1 GrandCentral is faster</text>
      \(bars.contains { $0.peer != nil } ? legend : "")\(axis(to: y))\(body)</svg>

      """
  }

  private var legend: String {
    let left = labelWidth + plotWidth - 200
    return """
      <text x="\(fixed(left + 10, 0))" y="26" fill="#616e7c">the best of other languages and libraries</text>
      \(dot(left, 22))
      """
  }

  private func dot(_ x: Double, _ y: Double) -> String {
    """
    <circle cx="\(fixed(x, 1))" cy="\(fixed(y, 1))" r="4.5" fill="#f7c948" stroke="#513c06"/>

    """
  }

  private func x(_ ratio: Double) -> Double {
    let span = Double(highest - lowest)
    return labelWidth + plotWidth * (log10(ratio) - Double(lowest)) / span
  }

  private func axis(to bottom: Double) -> String {
    var result = ""
    for exponent in lowest...highest {
      let power = pow(10, Double(exponent))
      for step in 1...9 where exponent < highest || step == 1 {
        let value = Double(step) * power
        let colour = value == 1 ? "#323f4b" : step == 1 ? "#cbd2d9" : "#eef1f4"
        let position = fixed(x(value), 1)
        result += "<line x1=\"\(position)\" x2=\"\(position)\" y1=\"\(fixed(top - 6, 0))\" y2=\"\(fixed(bottom, 0))\" "
        result += "stroke=\"\(colour)\"/>\n"
      }
      let label = exponent < 0 ? fixed(power, -exponent) : fixed(power, 0)
      result += "<text x=\"\(fixed(x(power), 1))\" y=\"\(fixed(bottom + 18, 0))\" text-anchor=\"middle\" "
      result += "fill=\"#616e7c\">\(label)×</text>\n"
    }
    return result
  }

  /// The value stands in a column of its own: beside the bar's end it would meet dots.
  private func draw(_ bar: Bar, at y: Double) -> String {
    let begin = min(x(bar.ratio), x(1))
    let length = max(1, abs(x(bar.ratio) - x(1)))
    let colour = bar.ratio <= 1 ? "#2680c2" : "#d64545"
    let middle = fixed(y + barHeight - 3, 1)
    let value = "\(fixed(bar.ratio, bar.ratio < 0.1 ? 3 : 2))×"
    return """
      <text x="\(fixed(labelWidth - 16, 0))" y="\(middle)" text-anchor="end" fill="#323f4b">\(escaped(bar.name))</text>
      <rect x="\(fixed(begin, 1))" y="\(fixed(y, 1))" width="\(fixed(length, 1))" height="\(fixed(barHeight, 0))" \
      rx="2" fill="\(colour)"/>
      \(bar.peer.map { dot(x($0), y + barHeight / 2) } ?? "")\
      <text x="\(fixed(labelWidth + plotWidth + valueWidth - 16, 0))" y="\(middle)" text-anchor="end" \
      font-size="11" fill="#323f4b">\(value)</text>

      """
  }

  private func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      default: result.append(character)
      }
    }
  }
}
