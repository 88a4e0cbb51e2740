// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import IndexKit

/// The same work without any queue: what the pipeline is compared with.
enum SerialIndex {
  static func run(_ root: Path, _ progress: Progress) -> Ledger {
    let ledger = Ledger()
    let reader = FileReader()
    var files: [Path] = []
    FolderWalker.walk(root, isCancelled: { Interrupt.isRequested }) { event in
      switch event {
      case .file(let path, let size):
        progress.found(bytes: size)
        files.append(path)
      case .skipped(let kind): ledger.add(kind)
      case .problem(let problem): ledger.add(problem)
      }
    }
    if !Interrupt.isRequested { progress.finishedWalk() }
    for file in files {
      if Interrupt.isRequested { break }
      ledger.add(reader.read(file, isCancelled: { Interrupt.isRequested }, progress: progress.read(bytes:)))
      progress.finishedFile()
    }
    ledger.merge(reader.takeTable())
    return ledger
  }
}
