// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// One run of `gcd trace convert`.
enum ConversionRun {
  static func start(_ options: ConversionOptions) -> Never {
    TraceOutput.ignoreSignals()
    let name = options.input == "-" ? "standard input" : TextLayout.printable(options.input)
    var file: TraceFile
    do { file = try TraceFile(options.input) } catch { fail("\(name): \(words(error))", 6) }
    if options.input != "-", options.output != "-", Files.areSame(options.input, options.output) {
      fail("\(name) would be overwritten by what is made of it", 1)
    }
    let output: TraceOutput
    do { output = try TraceOutput(options.output) } catch {
      fail("\(TextLayout.printable(options.output)): \(String(cString: strerror(error.code)))", 1)
    }
    let end = convert(&file, options.format, output)
    if case .failure(let failure) = end {
      output.discard()
      fail("\(name): \(words(failure))", failure.code)
    }
    if let failure = output.failure { fail(output.report(failure, whole: true), 1) }
    switch end {
    case .success(.cut): tell("\(name) is cut off: what is whole of it is converted")
    case .success(.damaged): fail("\(name) is damaged: what stands before the damage is converted", 5)
    default: break
    }
    exit(0)
  }

  private static func convert(
    _ file: inout TraceFile, _ format: ConversionOptions.Format, _ output: TraceOutput
  ) -> Result<TraceFile.End, TraceFile.Failure> {
    var export: any TraceExport =
      switch format {
      case .json: JSONExport()
      case .stacks: StacksExport()
      case .csv: CSVExport()
      }
    // What has been read of a slice is complete at its end, and so is what its track is called.
    var facts: [ReadFact] = []
    let reader = TraceReader { facts.append($0) }
    let names = TrackNames(reader: reader)
    func hand() {
      for fact in facts { export.write(fact, names, output) }
      facts.removeAll(keepingCapacity: true)
    }
    export.begin(output)
    do throws(TraceFile.Failure) {
      var end = try file.packets { packet in
        reader.packet(packet)
        hand()
        return output.failure == nil && !reader.isDamaged
      }
      if reader.isDamaged { end = .damaged }
      reader.finish()
      hand()
      export.end(names, output)
      output.flush()
      return .success(end)
    } catch {
      return .failure(error)
    }
  }

  private static func words(_ failure: TraceFile.Failure) -> String {
    switch failure {
    case .system(let code): String(cString: strerror(code))
    case .noTrace: "not a timeline in Perfetto's format"
    }
  }

  private static func tell(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    tell(text)
    exit(code)
  }
}

extension TraceFile.Failure {
  var code: Int32 {
    switch self {
    case .system: 6
    case .noTrace: 5
    }
  }
}

/// What was asked for.
struct ConversionOptions {
  enum Format: String, CaseIterable {
    case json
    case stacks
    case csv
  }

  let input: String
  let output: String
  let format: Format
}
