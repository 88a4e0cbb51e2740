// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import CPlatform

// Which code of the program an item calls in the end: a trace names it by that. All of it runs only while somebody records.

/// What a source's handler calls. The handler's closure keeps what it is.
enum HandlerCode {
  case function(dispatch_function_t)
  case block(Block)
  case item(DispatchWorkItem)
}

extension SourceHandler {
  // Which kind of address is told, in bits that no address has.
  private static var tellsBlock: UInt { 1 << 54 }
  private static var tellsItem: UInt { 1 << 55 }

  init(calling code: HandlerCode, _ body: @escaping () -> Void) {
    switch code {
    case .function(let function): self.init(as: nil, telling: unsafeBitCast(function, to: UInt.self), body)
    case .block(let block): self.init(as: nil, telling: UInt(bitPattern: block.raw) | Self.tellsBlock, body)
    case .item(let item): self.init(as: item, telling: Borrowed(item).bits | Self.tellsItem, body)
    }
  }

  /// The address of the code.
  fileprivate var code: UInt {
    let address = told & ~(Self.tellsBlock | Self.tellsItem)
    // unsafe: the handler's closure keeps the block, or the item.
    if told & Self.tellsBlock != 0 { return gcd_code_of_block(UnsafeRawPointer(bitPattern: address)) }
    if told & Self.tellsItem != 0 { return Borrowed<DispatchWorkItem>(bits: address)?.use { $0.code } ?? 0 }
    return address
  }
}

extension DispatchWorkItem {
  /// The address of the code of the block that the item runs; 0 if that has been released.
  fileprivate var code: UInt {
    // unsafe: the closure holds a `Block` and nothing else (`makeItem`), so that is its context.
    code {
      $0.context.map { Unmanaged<Block>.fromOpaque($0)._withUnsafeGuaranteedRef { gcd_code_of_block($0.raw) } } ?? 0
    }
  }
}

extension DispatchSource {
  /// The address of the code of the handler that is called next; 0: there is none.
  fileprivate var nextCode: UInt {
    let role = state.load().dueRole
    // SourceState.V11: without a registration handler the event comes in its place. What the handler keeps may be released by the look, so
    // that is not done with the lock.
    let next = lock.withLock { handlers[role] ?? (role == .registration ? handlers.event : nil) }
    return next?.code ?? 0
  }
}

@c(gcd_code_of_job)
public func codeOfJob(_ bits: UInt, _ function: UInt) -> UInt {
  // A simulation, or a tracer at the probes, is not told.
  if InsightLayout.switches & InsightLayout.Switch.record == 0 { return function }
  let job = Job(raw: Raw(bitPattern: bits)!)
  let runner = Lane.runner(of: job)
  var code: UInt = 0
  // unsafe: the job keeps its block, its item or its source until it has run.
  switch runner {
  case Lane.address(Call.block), Lane.address(Call.groupedBlock):
    code = gcd_code_of_block(UnsafeRawPointer(bitPattern: job.bodyContext))
  case Lane.address(Items.workItem), Lane.address(Call.item), Lane.address(Call.groupedItem):
    code = Borrowed<DispatchWorkItem>(word: job.extra!).use { $0.code }
  case Lane.address(DispatchSource.step):
    code = Borrowed<DispatchSource>(word: job.owner!).use { $0.nextCode }
  default: break
  }
  return code != 0 ? code : function
}
