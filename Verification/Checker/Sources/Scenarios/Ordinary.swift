// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import GrandCentral

// Ordinary programs on the whole engine: two threads, and of the library nothing but its public names. So they can be built with
// the sources of any commit (`Scripts/checker-history`); they show what a user could have met there.

/// A program may take a while: the whole engine is in it.
private func program(_ name: String, processors: Int32 = 2, unusual: Int = 1, _ body: @escaping (ScenarioRun) -> Void)
  -> Scenario
{
  Scenario("program: " + name, of: "Engine", unusual: unusual, isSmall: false, steps: 200_000) { run in
    ck_machine_set_processors(processors)
    body(run)
  }
}

/// Numbers that readers and a writer share: no race, and never half written.
private final class Account: @unchecked Sendable {  // the queues exclude
  private let first = Plain(), second = Plain()

  func deposit() {
    first.value += 1
    second.value += 1
  }

  var balance: Int { first.value }
}

func ordinary() -> [Scenario] { loops() + retargetings() + sequences() }

// MARK: Parallel loops

/// A loop in a loop: each pair of indices is done once, and when the call returns all is done.
private func nested(_ run: ScenarioRun, outer: Int, inner: Int, length: UInt64) {
  let done = (0..<(outer * inner)).map { _ in Plain() }
  DispatchQueue.concurrentPerform(iterations: outer) { row in
    DispatchQueue.concurrentPerform(iterations: inner) { column in
      ck_machine_compute(length)
      done[row * inner + column].value += 1
    }
  }
  for each in done { run.check(each.value == 1, "an index was left out, or done twice, or is not done yet") }
}

private func loops() -> [Scenario] {
  [
    program("two threads make nested parallel loops") { run in
      for _ in 0..<2 { run.thread { nested(run, outer: 2, inner: 2, length: 3_000_000) } }
    }
  ]
}

// MARK: Targets that change

private func retargetings() -> [Scenario] {
  /// A queue above a queue that gets another target; `base` is that, and others use it too.
  func chain(
    _ name: String, base attributes: DispatchQueue.Attributes, _ use: @escaping (DispatchQueue, Account) -> Void
  )
    -> Scenario
  {
    program(name, processors: 1) { run in
      let base = DispatchQueue(label: "base", attributes: attributes), middle = DispatchQueue(label: "middle")
      let queue = DispatchQueue(label: "queue", target: middle)
      let account = Account(), before = Account()
      run.thread { use(queue, before) }
      run.thread {
        middle.setTarget(queue: base)
        base.sync(flags: .barrier) { account.deposit() }
      }
      run.finally {
        queue.sync { run.check(before.balance == 1, "an item was lost") }
        base.sync(flags: .barrier) { run.check(account.balance == 1, "an item was lost") }
      }
    }
  }
  return [
    chain("sync on a queue whose target moves to a serial queue", base: []) { queue, account in
      queue.sync { account.deposit() }
    },
    chain("sync on a queue whose target moves to a concurrent queue", base: .concurrent) { queue, account in
      queue.sync { account.deposit() }
    },
    chain("async on a queue whose target moves to a concurrent queue", base: .concurrent) { queue, account in
      queue.async { account.deposit() }
    },
    program("a queue of the main thread's gets one target after the other while it is used", unusual: 0) { run in
      let queue = DispatchQueue(label: "queue", target: .main), latch = Latch(2)
      run.finally {
        queue.async { latch.open() }
        let other = ProgramThread { queue.async(qos: .userInteractive) { latch.open() } }
        for label in ["one", "two"] {
          queue.setTarget(queue: DispatchQueue(label: label, target: .main))
          DispatchMainLoop.drain()
        }
        other.join()
        DispatchMainLoop.drain()
        latch.wait()
      }
    },
    program("sync on a queue whose target moves to the main queue", unusual: 0) { run in
      let middle = DispatchQueue(label: "middle"), queue = DispatchQueue(label: "queue", target: middle)
      let count = Plain(), latch = Latch(2)
      run.finally {
        let other = ProgramThread {
          for _ in 0..<2 {
            queue.sync { count.value += 1 }
            latch.open()
          }
        }
        middle.setTarget(queue: .main)
        while !latch.isOpen {
          DispatchMainLoop.drain()
          gc_pause()
        }
        other.join()
        run.check(count.value == 2, "an item was lost")
      }
    },
  ]
}

// MARK: Sequences of events

private func sequences() -> [Scenario] {
  [
    program("a loop over a file's changes is left while the file changes", processors: 1, unusual: 0) { run in
      _ = ck_machine_make_file("/file", "x")
      let loop = Box<DispatchSource.Events<DispatchSource.FileSystemEvent>.Iterator?>(
        DispatchSource.fileSystemEvents(at: "/file").makeAsyncIterator())
      ck_machine_compute(1_000_000)
      let open = ck_machine_open_descriptors()
      run.thread { _ = ck_machine_append("/file", "y") }
      run.thread { loop.value = nil }
      run.finally {
        ck_machine_compute(1_000_000)
        run.check(ck_machine_open_descriptors() == open - 1, "the file stays open when its loop has ended")
      }
    }
  ]
}
