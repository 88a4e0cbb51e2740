// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("A printed queue")
struct DescriptionTests {
  @Test("F3: a queue says what it is called, of which kind it is and what its items are worth")
  func ownQueues() {
    let store = DispatchQueue(label: "org.example.store", qos: .utility)
    #expect("\(store)" == "<DispatchQueue \"org.example.store\": serial, qos utility>")
    let cache = DispatchQueue(label: "org.example.cache", attributes: .concurrent, target: store)
    #expect("\(cache)" == "<DispatchQueue \"org.example.cache\": concurrent, target \"org.example.store\">")
    #expect("\(DispatchWorkloop(label: "loop"))" == "<DispatchQueue \"loop\": workloop>")
    let relative = DispatchQueue(label: "", qos: DispatchQoS(qosClass: .userInitiated, relativePriority: -3))
    #expect(String(describing: relative) == "<DispatchQueue \"\": serial, qos userInitiated -3>")
    #expect(String(reflecting: store).contains("org.example.store"))
  }

  @Test("F3: global queues and the main queue say so")
  func sharedQueues() {
    #expect("\(DispatchQueue.main)" == "<DispatchQueue \"com.apple.main-thread\": main>")
    let background = DispatchQueue.global(qos: .background)
    #expect("\(background)" == "<DispatchQueue \"com.apple.root.background-qos\": global, qos background>")
  }
}
