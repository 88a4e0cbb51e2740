// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("gcd --help and --version")
struct HelpToolTests {
  @Test("every command prints its help, with exit code 0")
  func help() throws {
    let overview = ToolProcess.run(["--help"])
    #expect(overview.code == 0 && overview.error.isEmpty)
    // The commands stand in lines that begin with two blanks, after the heading.
    let lines = overview.output.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }.dropFirst()
    let names = lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
      .map { String($0.dropFirst(2).prefix { $0 != " " }) }.filter { $0.first?.isLowercase == true }
    #expect(Set(names).isSuperset(of: ["watch", "wait", "run", "doctor", "adopt"]), "\(names)")
    for name in names {
      for words in [[name, "--help"], [name, "-h"], ["help", name]] {
        let result = ToolProcess.run(words)
        #expect(result.code == 0 && result.error.isEmpty, "\(words)")
        #expect(result.output.contains("\nUSAGE: gcd \(name) "), "\(words)")
      }
    }
  }

  @Test("every command tells the one version; what a program is given is its own")
  func version() {
    let version = ToolProcess.run(["--version"])
    #expect(version.code == 0)
    #expect(version.output.split(separator: ".").count >= 2 && version.output.first?.isNumber == true)
    for name in ["watch", "wait", "run", "doctor"] {
      #expect(ToolProcess.run([name, "--version"]).output == version.output, "\(name)")
    }
    // After the program, or "--", these are no options of the tool.
    let other = ToolProcess.run(["run", "--library", "/nowhere", "--", "--help"])
    #expect(other.code == 125 && other.output.isEmpty)
  }
}
