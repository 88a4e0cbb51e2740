// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What Package.swift lacks.
struct ManifestAdvice {
  private static let product = "GrandCentral"
  private static let repository = "swift-grand-central"

  /// For targets that are to use the library: lines of text, none if nothing is missing.
  static func lines(_ package: SwiftPackage, _ targets: [SwiftPackage.Target]) -> [String] {
    let without = targets.filter { !$0.dependencies.contains(product) }
    if without.isEmpty { return [] }
    // Another target that has the product already shows that the package is known, if under another name.
    let isKnown =
      package.dependencies.contains(repository) || package.targets.contains { $0.dependencies.contains(product) }
    var lines = ["Package.swift lacks:"]
    if !isKnown {
      lines.append("  among the package's dependencies, where ADDRESS is what you would clone the library from:")
      // Before 1.0 the next minor version may break.
      lines.append("    .package(url: \"ADDRESS/\(repository)\", .upToNextMinor(from: \"\(Version.text)\")),")
    }
    lines.append("  among the dependencies of " + without.map(\.name).joined(separator: " and ") + ":")
    lines.append("    .product(name: \"\(product)\", package: \"\(repository)\"),")
    return lines
  }
}
