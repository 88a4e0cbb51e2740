// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Names of a process's code, for sentences: looked up when they are asked for.
final class ProcessSymbols {
  private let makeCode: () -> ProcessCode
  private lazy var code = makeCode()

  init(_ process: Int32) { makeCode = { ProcessCode(process) } }

  init(_ core: CoreFile) { makeCode = { ProcessCode(core.files) } }

  /// The function that an address is in, or the file and the place in it; nil if it is in no file.
  ///
  /// An address to return to may be that of the next function: the call stands before it.
  func name(_ address: UInt64, isReturn: Bool = false) -> String? {
    let address = isReturn && address > 0 ? address - 1 : address
    return code.mapping(of: address).map { code.name(of: address, in: $0) }
  }
}
