// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: Foundation's operations. What it prints is the same on any library.
import Dispatch
import Foundation

final class Log: @unchecked Sendable {  // guarded by `lock`
  private let lock = NSLock()
  private var lines: [String] = []
  func add(_ line: String) { lock.withLock { lines.append(line) } }
  var text: String { lock.withLock { lines.joined(separator: " ") } }
}

/// An operation that ends later than its `start`.
final class Later: Operation, @unchecked Sendable {  // guarded by `lock`
  private let lock = NSLock()
  private var (runs, ended) = (false, false)
  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { lock.withLock { runs } }
  override var isFinished: Bool { lock.withLock { ended } }
  override func start() {
    willChangeValue(forKey: "isExecuting")
    lock.withLock { runs = true }
    didChangeValue(forKey: "isExecuting")
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) {
      self.willChangeValue(forKey: "isExecuting")
      self.willChangeValue(forKey: "isFinished")
      self.lock.withLock { (self.runs, self.ended) = (false, true) }
      self.didChangeValue(forKey: "isExecuting")
      self.didChangeValue(forKey: "isFinished")
    }
  }
}

@main struct Program {
  static func main() {
    serial()
    dependencies()
    limit()
    cancellation()
    later()
    barrier()
    underlying()
    qualities()
  }

  static func serial() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    let log = Log()
    for number in 0..<8 {
      let operation = BlockOperation { log.add("\(number)") }
      operation.queuePriority = number == 5 ? .veryHigh : number == 2 ? .veryLow : .normal
      queue.addOperation(operation)
    }
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    print("by priority:", log.text)
  }

  static func dependencies() {
    let queue = OperationQueue()
    let log = Log()
    var previous: Operation?
    var all: [Operation] = []
    for number in (0..<20).reversed() {
      let operation = BlockOperation { log.add("\(number)") }
      if let previous { previous.addDependency(operation) }
      previous = operation
      all.append(operation)
    }
    queue.addOperations(all, waitUntilFinished: true)
    print("by dependency:", log.text)
  }

  static func limit() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3
    let lock = NSLock()
    nonisolated(unsafe) var (running, most, done) = (0, 0, 0)
    for _ in 0..<300 {
      queue.addOperation {
        lock.withLock {
          running += 1
          most = max(most, running)
        }
        usleep(50)
        lock.withLock {
          running -= 1
          done += 1
        }
      }
    }
    queue.waitUntilAllOperationsAreFinished()
    print("limit:", most <= 3, done)
  }

  static func cancellation() {
    let queue = OperationQueue()
    queue.isSuspended = true
    let log = Log()
    let operations = (0..<4).map { number in BlockOperation { log.add("ran \(number)") } }
    for operation in operations {
      operation.completionBlock = { log.add("completed") }
      queue.addOperation(operation)
    }
    operations[1].cancel()
    operations[3].cancel()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    print("cancelled:", operations.map { $0.isCancelled ? "yes" : "no" }, operations.allSatisfy(\.isFinished))
    queue.isSuspended = true
    queue.addOperation { log.add("never") }
    queue.cancelAllOperations()
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    print(
      "ran:", log.text.contains("ran 0") && log.text.contains("ran 2"), log.text.contains("ran 1"),
      log.text.contains("never"))
  }

  static func later() {
    let queue = OperationQueue()
    let operations = (0..<10).map { _ in Later() }
    queue.addOperations(operations, waitUntilFinished: true)
    print("asynchronous:", operations.filter(\.isFinished).count)
  }

  static func barrier() {
    let queue = OperationQueue()
    let log = Log()
    for _ in 0..<10 {
      queue.addOperation {
        usleep(300)
        log.add("a")
      }
    }
    queue.addBarrierBlock { log.add("|") }
    for _ in 0..<10 { queue.addOperation { log.add("b") } }
    queue.waitUntilAllOperationsAreFinished()
    print("barrier:", log.text)
  }

  static func underlying() {
    let label = "underlying"
    let queue = OperationQueue()
    // The operation queue does not keep it.
    let under = DispatchQueue(label: label)
    queue.underlyingQueue = under
    let key = DispatchSpecificKey<String>()
    under.setSpecific(key: key, value: label)
    let log = Log()
    for number in 0..<5 { queue.addOperation { log.add("\(number):\(DispatchQueue.getSpecific(key: key) ?? "?")") } }
    queue.waitUntilAllOperationsAreFinished()
    under.sync { print("underlying:", log.text) }
  }

  static func qualities() {
    let group = DispatchGroup()
    let log = Log()
    for quality in [QualityOfService.userInteractive, .userInitiated, .default, .utility, .background] {
      let queue = OperationQueue()
      queue.qualityOfService = quality
      for _ in 0..<20 {
        group.enter()
        queue.addOperation {
          log.add(".")
          group.leave()
        }
      }
    }
    group.wait()
    print("qualities:", log.text.split(separator: " ").count)
  }
}
