// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

/// The other half, preconditions that do not hold, is among the fault tests.
@Suite("dispatchPrecondition passes")
struct PreconditionTests {
  private let queue = DispatchQueue(label: "checked")

  @Test("Q13: on the queue, sync, asyncAndWait and async")
  func onQueue() {
    queue.sync { dispatchPrecondition(condition: .onQueue(queue)) }
    queue.asyncAndWait { dispatchPrecondition(condition: .onQueue(queue)) }
    let done = Latch()
    queue.async { [queue] in
      dispatchPrecondition(condition: .onQueue(queue))
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q13: on every queue of the target chain")
  func onTheChain() {
    let top = DispatchQueue(label: "top", target: DispatchQueue(label: "middle", target: queue))
    top.sync { dispatchPrecondition(condition: .onQueue(queue)) }
    let done = Latch()
    top.async { [queue] in
      dispatchPrecondition(condition: .onQueue(top))
      dispatchPrecondition(condition: .onQueue(queue))
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q13: on the outer queue inside a nested sync")
  func onTheOuterQueue() {
    let inner = DispatchQueue(label: "inner")
    queue.sync {
      inner.sync {
        dispatchPrecondition(condition: .onQueue(queue))
        dispatchPrecondition(condition: .onQueue(inner))
      }
      dispatchPrecondition(condition: .notOnQueue(inner))
    }
  }

  @Test("Q13: not on the queue, outside of it and on another one")
  func notOnQueue() {
    let (other, above) = (DispatchQueue(label: "other"), DispatchQueue(label: "above", target: queue))
    dispatchPrecondition(condition: .notOnQueue(queue))
    dispatchPrecondition(condition: .notOnQueue(.main))
    other.sync { dispatchPrecondition(condition: .notOnQueue(queue)) }
    queue.sync { dispatchPrecondition(condition: .notOnQueue(above)) }
  }

  @Test("Q13: as a barrier, on a serial queue always and on a concurrent one in a barrier")
  func asBarrier() {
    queue.sync { dispatchPrecondition(condition: .onQueueAsBarrier(queue)) }
    let concurrent = DispatchQueue(label: "concurrent", attributes: .concurrent)
    concurrent.sync(flags: .barrier) { dispatchPrecondition(condition: .onQueueAsBarrier(concurrent)) }
    concurrent.asyncAndWait(flags: .barrier) { dispatchPrecondition(condition: .onQueueAsBarrier(concurrent)) }
    let done = Latch(2)
    for flags: DispatchWorkItemFlags in [[], .barrier] {
      concurrent.async(flags: flags) {
        dispatchPrecondition(condition: flags.isEmpty ? .onQueue(concurrent) : .onQueueAsBarrier(concurrent))
        done.open()
      }
    }
    #expect(done.wait())
  }

  @Test("Q13: on the global queue whose item has begun a synchronous one of another")
  func onGlobalBehindAnother() {
    let done = Latch()
    DispatchQueue.global().async {
      DispatchQueue.global(qos: .utility).sync {
        dispatchPrecondition(condition: .onQueue(.global()))
        dispatchPrecondition(condition: .onQueue(.global(qos: .utility)))
        dispatchPrecondition(condition: .notOnQueue(.global(qos: .background)))
      }
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q13: on a global queue")
  func onGlobal() {
    let done = Latch()
    DispatchQueue.global(qos: .utility).async {
      dispatchPrecondition(condition: .onQueue(.global(qos: .utility)))
      dispatchPrecondition(condition: .notOnQueue(.global(qos: .userInitiated)))
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q13: on a global queue inside a synchronous item that begins in one of its items")
  func onGlobalInsideSync() {
    let done = Latch()
    let low = DispatchQueue(label: "low", qos: .utility)
    let above = DispatchQueue(label: "above", target: low)
    let concurrent = DispatchQueue(label: "concurrent", qos: .utility, attributes: .concurrent)
    DispatchQueue.global().async {
      for queue in [low, above, concurrent] {
        for flags: DispatchWorkItemFlags in [[], .barrier] {
          queue.sync(flags: flags) {
            dispatchPrecondition(condition: .onQueue(.global()))
            dispatchPrecondition(condition: .onQueue(.global(qos: .utility)))
            dispatchPrecondition(condition: .notOnQueue(.global(qos: .userInitiated)))
          }
        }
      }
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q13: an item of a queue is on the global queue that is its target, in whichever band it runs")
  func onTargetInOtherBand() {
    let (done, other) = (Latch(2), DispatchQueue(label: "other", qos: .utility))
    for queue in [self.queue, .global()] {
      queue.async(qos: .userInitiated, flags: .enforceQoS) {
        other.sync {
          dispatchPrecondition(condition: .onQueue(.global()))
          dispatchPrecondition(condition: .notOnQueue(.global(qos: .userInitiated)))
        }
        done.open()
      }
    }
    #expect(done.wait())
  }

  /// A queue whose drainer waits in an item until another one comes: if that is a synchronous one, the drainer runs it.
  private func busyQueue(_ label: String, qos: DispatchQoS = .unspecified) -> DispatchQueue {
    let (queue, isBusy) = (DispatchQueue(label: label, qos: qos), Latch())
    queue.async {
      isBusy.open()
      _ = eventually { !queue.items.tailIsNil }
    }
    isBusy.wait()
    return queue
  }

  @Test("Q13: on the queues of the caller that waits, in a synchronous item that another thread runs")
  func onTheCallersQueues() {
    let (elsewhere, further) = (busyQueue("elsewhere"), busyQueue("further"))
    let (concurrent, outside) = (DispatchQueue(label: "c", attributes: .concurrent), DispatchQueue(label: "outside"))
    let (answers, done) = (Recorder<Bool>(), Latch())
    queue.sync {
      concurrent.sync(flags: .barrier) {
        elsewhere.asyncAndWait {
          further.asyncAndWait {
            for asked in [queue, concurrent, elsewhere, further] {
              dispatchPrecondition(condition: .onQueue(asked))
              dispatchPrecondition(condition: .onQueueAsBarrier(asked))
            }
            for asked in [outside, .main, .global(qos: .background)] { answers.note(asked.isCurrent) }
          }
        }
      }
    }
    elsewhere.async { [queue] in
      answers.note(queue.isCurrent)
      answers.note(concurrent.isCurrentAlone)
      done.open()
    }
    #expect(done.wait())
    #expect(answers.values == [false, false, false, false, false])
  }

  @Test("Q13: on the caller's global queue, in a synchronous item that another thread runs")
  func onTheCallersGlobalQueue() {
    let elsewhere = busyQueue("elsewhere", qos: .utility)
    let concurrent = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (answers, done) = (Recorder<Bool>(), Latch())
    DispatchQueue.global(qos: .userInitiated).async {
      concurrent.sync {
        elsewhere.asyncAndWait {
          answers.note(concurrent.isCurrent && !concurrent.isCurrentAlone)
          answers.note(DispatchQueue.global(qos: .userInitiated).isCurrent)
          answers.note(DispatchQueue.global(qos: .utility).isCurrent)
          answers.note(!DispatchQueue.global(qos: .background).isCurrent)
        }
      }
      done.open()
    }
    #expect(done.wait())
    #expect(answers.values == [true, true, true, true])
  }
}
