// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Concurrent queues with a limit. What the limit means for the lane is invariant Lane.L7.
extension DispatchQueue {
  /// A concurrent queue that runs at most `maximumConcurrency` items at once.
  ///
  /// Use it where items share something of which there is only so much: connections of a server, file descriptors,
  /// memory for decoded images.
  ///
  /// ```swift
  /// let downloads = DispatchQueue(label: "downloads", qos: .utility, maximumConcurrency: 4)
  /// for url in urls {
  ///   downloads.async { keep(fetch(url)) }  // four at a time; a fifth starts when one of them has finished
  /// }
  /// downloads.async(flags: .barrier) { print("all fetched") }
  /// ```
  ///
  /// Items start in the order of their submission. As soon as one finishes the next one starts: an item that takes long
  /// holds one place, and delays no other item. Items that wait for their place hold no thread.
  ///
  /// What counts towards the limit:
  /// - An `async` item, `asyncAfter` item or notification, from its start to its end.
  /// - A `sync` or `asyncAndWait` caller, while its closure runs. It waits for a place in order with the other items.
  /// - A queue that targets this one: one place while it runs items of its own, however many it has in turn. So several
  ///   concurrent queues that target one queue with a limit share that limit.
  /// - A barrier runs alone, whatever the limit: it waits for all earlier items, and later ones wait for it.
  ///
  /// Changing the queue's own target with `setTarget` keeps the limit.
  ///
  /// A limit of 1 runs one item at a time in the order of submission, as a serial queue does, with barriers that change
  /// nothing. A serial queue is the better choice: it runs its items in batches, where this queue sends each one through
  /// its target by itself.
  ///
  /// Items that wait for later items of the same queue can use up all places, and then wait for ever. A `sync` or
  /// `asyncAndWait` onto the queue by a thread that holds all of its places itself traps (GC0007).
  ///
  /// `OperationQueue.maxConcurrentOperationCount` limits operations in the same way. It can be changed while operations
  /// run, and knows dependencies and priorities; this queue is first in, first out, and costs little more than a
  /// concurrent queue without a limit. A `DispatchSemaphore` that items wait for limits them as well, but each item that
  /// waits for it blocks a thread.
  ///
  /// - Parameters:
  ///   - label: A name that appears in reports and faults.
  ///   - qos: The quality of service of items for which none is given.
  ///   - attributes: `.initiallyInactive`. The queue is concurrent whether or not `.concurrent` is given.
  ///   - maximumConcurrency: The limit, 1 or more; anything less traps (GC0031). 65,535 and more stand for no limit.
  ///   - autoreleaseFrequency: Recorded; Linux has no autorelease pools.
  ///   - target: The queue that this queue's items run on, as items of its own; nil is a global queue.
  ///
  /// Complexity: O(1); an item that has to wait for a place costs one more atomic operation at the end of another. Blocking:
  /// never.
  @_optimize(size)
  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [], maximumConcurrency: Int,
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {
    self.init(
      label: label, qos: qos, attributes: attributes.union(.concurrent), autoreleaseFrequency: autoreleaseFrequency,
      target: target)
    if maximumConcurrency < 1 { faultNoConcurrency(maximumConcurrency) }
    // relaxed: no other thread knows the queue yet.
    width.store(UInt16(clamping: maximumConcurrency), ordering: .relaxed)
  }

  /// How many items may run at once: 1 for a serial queue, a workloop and the main queue; nil for a queue without a limit of
  /// its own.
  ///
  /// Complexity: O(1). Blocking: never.
  public final var maximumConcurrency: Int? {
    // relaxed: a number.
    let width = width.load(ordering: .relaxed)
    return width == .max ? nil : Int(width)
  }

  @inline(never)
  @_optimize(size)
  private final func faultNoConcurrency(_ limit: Int) -> Never {
    Fault.misuse(
      .widthNotAllowed,
      "DispatchQueue.init was asked for the queue \"" + name + "\" with a maximumConcurrency of " + String(limit)
        + ". Pass 1 or more; suspend() holds a queue back altogether.")
  }
}
