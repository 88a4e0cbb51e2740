// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("The global queues")
struct GlobalQueueTests {
  @Test("Q1: items of a global queue start in submission order")
  func startsInOrder() {
    let order = StartOrder(items: 20_000)
    let done = Latch(20_000)
    for index in 0..<20_000 {
      DispatchQueue.global().async {
        order.started(index)
        done.open()
      }
    }
    #expect(done.wait())
    #expect(order.isFIFO, "\(order.worst) earlier items were missing, with \(order.threads) threads")
  }

  @Test("Q1: items of a global queue start in order when workers submit them")
  func startsInOrderFromWorkers() {
    let order = StartOrder(items: 5_000)
    let done = Latch(5_000)
    DispatchQueue.global().async {
      for index in 0..<5_000 {
        DispatchQueue.global().async {
          order.started(index)
          done.open()
        }
      }
    }
    #expect(done.wait())
    #expect(order.isFIFO, "\(order.worst) earlier items were missing, with \(order.threads) threads")
  }

  @Test("Q3: on a global queue a barrier is an ordinary item")
  func barrierIsOrdinary() {
    let (firstIsIn, secondIsIn, met) = (Latch(), Latch(), Latch(2))
    DispatchQueue.global().async {
      firstIsIn.open()
      if secondIsIn.wait() { met.open() }
    }
    DispatchQueue.global().async(flags: .barrier) {
      secondIsIn.open()
      if firstIsIn.wait() { met.open() }
    }
    #expect(met.wait())
  }

  @Test(
    "Q4: the global queues have the labels that tools know",
    arguments: [
      (DispatchQoS.QoSClass.userInteractive, "com.apple.root.user-interactive-qos"),
      (.userInitiated, "com.apple.root.user-initiated-qos"),
      (.default, "com.apple.root.default-qos"),
      (.utility, "com.apple.root.utility-qos"),
      (.background, "com.apple.root.background-qos"),
    ])
  func labels(qos: DispatchQoS.QoSClass, label: String) {
    #expect(DispatchQueue.global(qos: qos).label == label)
  }

  @Test("Q5: there is one global queue for each QoS class, and unspecified means default")
  func onePerClass() {
    let classes: [DispatchQoS.QoSClass] = [.userInteractive, .userInitiated, .default, .utility, .background]
    let queues = classes.map { DispatchQueue.global(qos: $0) }
    #expect(Set(queues.map { ObjectIdentifier($0) }).count == classes.count)
    #expect(DispatchQueue.global(qos: .unspecified).label == DispatchQueue.global(qos: .default).label)
    #expect(DispatchQueue.global() === DispatchQueue.global(qos: .default))
  }

  @Test("Q5: priorities are names for QoS classes")
  func prioritiesMap() {
    #expect(DispatchQueue.global(priority: .high).label == DispatchQueue.global(qos: .userInitiated).label)
    #expect(DispatchQueue.global(priority: .default).label == DispatchQueue.global(qos: .default).label)
    #expect(DispatchQueue.global(priority: .low).label == DispatchQueue.global(qos: .utility).label)
    #expect(DispatchQueue.global(priority: .background).label == DispatchQueue.global(qos: .background).label)
  }

  @Test("Q5: every global queue runs its work")
  func allRun() {
    let done = Latch(5)
    for qos: DispatchQoS.QoSClass in [.background, .utility, .default, .userInitiated, .userInteractive] {
      DispatchQueue.global(qos: qos).async { done.open() }
    }
    #expect(done.wait())
  }

  @Test("Q8: sync on a global queue runs on the calling thread")
  func syncOnGlobal() {
    let caller = Kernel.threadID
    #expect(DispatchQueue.global().sync { Kernel.threadID } == caller)
    #expect(DispatchQueue.global(qos: .background).sync { 42 } == 42)
  }
}
