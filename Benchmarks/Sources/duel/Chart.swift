// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import Glibc

/// A horizontal bar for each row: the ratio on a logarithmic scale. Bars to the left of 1 are faster than libdispatch.
struct Chart {
  private let bars: [(name: String, ratio: Double, group: Character)]
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
      return (row.name, ratio, row.name.first ?? "?")
    }
    let exponents = bars.map { log10($0.ratio) }
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
      body += draw(bar.name, bar.ratio, at: y)
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
      <text x="16" y="44" fill="#616e7c">Ratio of medians, logarithmic; to the left of 1 GrandCentral is faster</text>
      \(axis(to: y))\(body)</svg>

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

  private func draw(_ name: String, _ ratio: Double, at y: Double) -> String {
    let begin = min(x(ratio), x(1))
    let length = max(1, abs(x(ratio) - x(1)))
    let colour = ratio <= 1 ? "#2680c2" : "#d64545"
    let middle = fixed(y + barHeight - 3, 1)
    let value = "\(fixed(ratio, ratio < 0.1 ? 3 : 2))×"
    let end = ratio <= 1 ? (begin - 5, "end") : (begin + length + 5, "start")
    return """
      <text x="\(fixed(labelWidth - 50, 0))" y="\(middle)" text-anchor="end" fill="#323f4b">\(escaped(name))</text>
      <rect x="\(fixed(begin, 1))" y="\(fixed(y, 1))" width="\(fixed(length, 1))" height="\(fixed(barHeight, 0))" \
      rx="2" fill="\(colour)"/>
      <text x="\(fixed(end.0, 1))" y="\(middle)" text-anchor="\(end.1)" font-size="11" fill="#323f4b">\(value)</text>

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
