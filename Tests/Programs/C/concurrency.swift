// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What Swift programs do with the toolchain's Dispatch and Swift Concurrency. What it prints is the same on any library.
import Dispatch

@main struct M {
  static func main() async {
    let q = DispatchQueue(label: "q")
    var n = 0
    for _ in 0..<100 { q.async { n += 1 } }
    q.sync { print("sync", n) }
    let g = DispatchGroup()
    let c = DispatchQueue(label: "c", attributes: .concurrent)
    for _ in 0..<10 { c.async(group: g) {} }
    g.wait()
    let w = DispatchWorkItem { print("item") }
    q.async(execute: w); w.wait()
    DispatchQueue.concurrentPerform(iterations: 10) { _ in }
    let t = DispatchSource.makeTimerSource(queue: q)
    t.schedule(deadline: .now(), repeating: .milliseconds(5))
    let s = DispatchSemaphore(value: 0)
    t.setEventHandler { s.signal() }
    t.resume()
    for _ in 0..<3 { s.wait() }
    t.cancel()
    var d = DispatchData.empty
    [1, 2, 3].withUnsafeBytes { d.append($0) }
    print("data", d.count)
    let total = await withTaskGroup(of: Int.self) { g in
      for i in 0..<1000 { g.addTask { i } }; return await g.reduce(0, +)
    }
    print("tasks", total)
    try? await Task.sleep(for: .milliseconds(5))
    try? await Task.sleep(for: .milliseconds(5), tolerance: .milliseconds(1), clock: .suspending)
    await MainActor.run {
      MainActor.assertIsolated(); print("main actor")
    }
    let k = DispatchSpecificKey<Int>(); q.setSpecific(key: k, value: 7)
    print(q.sync { DispatchQueue.getSpecific(key: k) ?? -1 }, q.label, DispatchQueue.main.label)
    print("done")
  }
}
