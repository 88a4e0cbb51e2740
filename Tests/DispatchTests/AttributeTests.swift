// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("What a queue is created with")
struct AttributeTests {
  @Test(
    "Q4: a label is kept as given",
    arguments: ["", "org.example.queue", "Straße 漢字 🚦", String(repeating: "x", count: 4_000)])
  func label(label: String) {
    #expect(DispatchQueue(label: label).label == label)
    #expect(DispatchQueue(label: label, attributes: .concurrent).label == label)
  }

  @Test("Q4: a label is copied: what it was made from may change")
  func labelIsCopied() {
    var label = "before"
    let queue = DispatchQueue(label: label)
    label += " and after"
    #expect(queue.label == "before")
  }

  @Test("Q4: the main queue has the label that tools know")
  func mainLabel() {
    #expect(DispatchQueue.main.label == "com.apple.main-thread")
  }

  @Test(
    "Q11: a queue tells the QoS that it was given",
    arguments: [DispatchQoS.background, .utility, .default, .userInitiated, .userInteractive, .unspecified])
  func qos(qos: DispatchQoS) {
    #expect(DispatchQueue(label: "qos", qos: qos).qos == qos)
    #expect(DispatchQueue(label: "qos", qos: qos, attributes: .concurrent).qos == qos)
    // Q11: without one of its own a queue shows that of the global queue that is its target.
    let target = DispatchQueue.global(qos: qos.qosClass)
    let expected =
      qos.qosClass == .default ? DispatchQoS.unspecified : DispatchQoS(qosClass: qos.qosClass, relativePriority: 0)
    let queue = DispatchQueue(label: "qos", target: target)
    #expect(queue.qos == expected)
    #expect(DispatchQueue(label: "qos", target: queue).qos == .unspecified)
  }

  @Test("Q18: relative priorities from -15 to 0 are kept", arguments: [-15, -7, -1, 0])
  func relativePriority(priority: Int) {
    let qos = DispatchQoS(qosClass: .utility, relativePriority: priority)
    #expect(qos.qosClass == .utility)
    #expect(qos.relativePriority == priority)
    #expect(DispatchQueue(label: "qos", qos: qos).qos == qos)
    #expect((qos == .utility) == (priority == 0))
  }

  @Test("Q18: all attributes together make a queue that works once it is activated")
  func everyAttribute() {
    let frequencies: [DispatchQueue.AutoreleaseFrequency] = [.inherit, .workItem, .never]
    for frequency in frequencies {
      let queue = DispatchQueue(
        label: "all", qos: .userInitiated, attributes: [.concurrent, .initiallyInactive],
        autoreleaseFrequency: frequency, target: .global(qos: .utility))
      let done = Latch(2)
      for _ in 0..<2 {
        queue.async {
          done.open()
          done.wait()
        }
      }
      queue.activate()
      #expect(done.wait())
    }
  }

  @Test("Q18: attributes are a set of options")
  func optionSet() {
    let both: DispatchQueue.Attributes = [.concurrent, .initiallyInactive]
    #expect(both.contains(.concurrent) && both.contains(.initiallyInactive))
    #expect(!DispatchQueue.Attributes().contains(.concurrent))
    #expect(DispatchQueue.Attributes.concurrent != .initiallyInactive)
  }

  @Test("Q14: inside an item the current queue is that item's queue")
  func currentInsideItems() {
    let (queue, other) = (DispatchQueue(label: "current"), DispatchQueue(label: "other"))
    queue.sync {
      #expect(DispatchQueue.current === queue)
      other.sync { #expect(DispatchQueue.current === other) }
      #expect(DispatchQueue.current === queue)
    }
    let (seen, done) = (Recorder<Bool>(), Latch(2))
    queue.async {
      seen.note(DispatchQueue.current === queue)
      done.open()
    }
    DispatchQueue.global(qos: .utility).async {
      seen.note(DispatchQueue.current === DispatchQueue.global(qos: .utility))
      done.open()
    }
    #expect(done.wait())
    #expect(seen.values == [true, true])
  }

  @Test("Q14: on a thread of the program's own the current queue is the default global queue")
  func currentOnPlainThread() {
    let seen = Recorder<Bool>()
    PlainThread { seen.note(DispatchQueue.current === DispatchQueue.global()) }.join()
    #expect(seen.values == [true])
  }
}
