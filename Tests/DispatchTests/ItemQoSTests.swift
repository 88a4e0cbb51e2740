// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

@Suite("What an item is worth, and what becomes of one that never runs")
struct ItemQoSTests {
  private let queue = DispatchQueue(label: "items")

  @Test("W2: what was to follow an item that is dropped without having run is submitted")
  func notifiesWhenDropped() {
    let followed = Latch(2)
    var item: DispatchWorkItem? = DispatchWorkItem {}
    item?.notify(queue: queue) { followed.open() }
    item?.notify(queue: queue, execute: DispatchWorkItem { followed.open() })
    item = nil
    #expect(followed.wait())
  }

  @Test(
    "Q16, Q6: apply's helpers have the queue's quality of service, or else the caller's",
    arguments: ["target's", "caller's"])
  func applyQoS(whose: String) {
    let target: DispatchQueue? = whose == "target's" ? .global(qos: .background) : nil
    let queue = DispatchQueue(label: "applies", attributes: .concurrent, target: target)
    let (seen, done) = (Recorder<DispatchQoS.QoSClass>(), Latch())
    DispatchQueue.global(qos: .userInteractive).async {
      let (both, caller) = (Latch(2), Kernel.threadID)
      queue.apply(iterations: 2) { _ in
        both.open()
        both.wait()
        if Kernel.threadID == caller { return }
        seen.note(runningClass)
      }
      done.open()
    }
    #expect(done.wait())
    #expect(seen.values == [target == nil ? .userInteractive : .background])
  }

  @Test("W3: no flag makes an item worth less than its queue")
  func enforcedQoSLiftsOnly() {
    let queue = DispatchQueue(label: "urgent", qos: .userInitiated)
    #expect(queue.effectiveQoS(QoSWord(.utility), .enforceQoS) == QoSWord(.userInitiated))
    #expect(queue.effectiveQoS(QoSWord(.userInteractive), .enforceQoS) == QoSWord(.userInteractive))
  }

  @Test("Q6, X1: a priority between two classes is as urgent as the lower one")
  func prioritiesBetweenClasses() {
    let urgencies = (1...255).map { Urgency.of(QoSWord(rawValue: $0 << 8).band) }
    #expect(urgencies == urgencies.sorted())
    #expect(Set(urgencies).count == Band.count)
    for (priority, qos) in [
      (9, .background), (16, .background), (17, .utility), (20, .utility), (21, .default),
      (24, .default), (25, .userInitiated), (32, .userInitiated), (33, .userInteractive), (255, .userInteractive),
    ] as [(Int, DispatchQoS)] {
      #expect(urgencies[priority - 1] == Urgency.of(QoSWord(qos).band), "\(priority)")
    }
    #expect(QoSWord.unspecified.band == QoSWord.default.band)
  }

  @Test("Q11, W3: an item's QoS counts on global queues; on the default one it decides, on others it lifts")
  func qosOnGlobalQueues() {
    let done = Latch(3)
    let seen = Recorder<String>()
    func submit(_ name: String, to queue: DispatchQueue, _ qos: DispatchQoS) {
      queue.async(qos: qos) {
        let running = runningClass
        dispatchPrecondition(condition: .onQueue(queue))
        seen.note("\(name) \(running) on \(DispatchQueue.current.label)")
        done.open()
      }
    }
    submit("lowered", to: .global(), .background)
    submit("lifted", to: .global(qos: .utility), .userInteractive)
    submit("kept", to: .global(qos: .utility), .background)
    #expect(done.wait())
    #expect(
      seen.values.sorted() == [
        "kept utility on com.apple.root.utility-qos", "lifted userInteractive on com.apple.root.utility-qos",
        "lowered background on com.apple.root.default-qos",
      ])
  }

  @Test(
    "W3: what each flag makes of an item's quality of service",
    arguments: [
      ([], .userInteractive, .userInteractive), (.noQoS, .userInteractive, .utility),
      (.inheritQoS, .userInteractive, .utility), ([.inheritQoS, .enforceQoS], .userInteractive, .userInteractive),
      ([], .unspecified, .utility), (.assignCurrentContext, .unspecified, .userInitiated),
      ([.assignCurrentContext, .noQoS], .unspecified, .utility),
    ] as [(DispatchWorkItemFlags, DispatchQoS, DispatchQoS.QoSClass)])
  func flagsAndQoS(flags: DispatchWorkItemFlags, qos: DispatchQoS, expected: DispatchQoS.QoSClass) {
    let low = DispatchQueue(label: "low", qos: .utility)
    let (item, made) = (Guarded<DispatchWorkItem?>(nil), Latch())
    let (seen, done) = (Recorder<DispatchQoS.QoSClass>(), Latch())
    // Made in an urgent context, submitted by a thread that has none.
    DispatchQueue.global(qos: .userInitiated).async {
      item.with {
        $0 = DispatchWorkItem(qos: qos, flags: flags) {
          seen.note(runningClass)
          done.open()
        }
      }
      made.open()
    }
    #expect(made.wait())
    PlainThread { low.async(execute: item.with { $0! }) }.join()
    #expect(done.wait())
    #expect(seen.values == [expected])
  }
}

/// The class that the calling thread runs at.
private var runningClass: DispatchQoS.QoSClass {
  QoSWord(rawValue: UInt16(truncatingIfNeeded: gc_thread_self().pointee.qos)).qos.qosClass
}
