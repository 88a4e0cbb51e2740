// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// An intrusive FIFO list: many threads push, one at a time pops.
//
//   head ─► n1 ─► n2 ─► n3 ◄─ tail        A node is raw memory; its first word is the link to the next newer one.
//
//   | word | written by                                               | letter |
//   |------|----------------------------------------------------------|--------|
//   | tail | pushers, by exchange; the consumer, when the list empties| A      |
//   | head | the pusher of a first node; the consumer                 | A      |
//   | link | the pusher of the next node, once                        | A      |
//
// MPSCList.M1  tail = nil exactly if every node that was pushed has been popped.
// MPSCList.M2  Order of the exchanges on `tail` is the list's order.
// MPSCList.M3  From its exchange to its store of head or link a push is *half done*: what it and later pushers brought is
//     there but cannot be reached. The consumer waits until the push is done, which takes the pusher a few instructions. The pusher
//     may still touch what the list is part of: no consumer has its node.
// MPSCList.M4  After `pop` has returned, only the consumer knows the popped node: a pusher knows a node only while it is
//     `tail`, or until it has linked its successor, and pop has waited for that.
// MPSCList.M5  A consumer that pops many nodes by `popKept` keeps the oldest one to itself: it has what the last call returned,
//     and `head` counts only after nil. It calls `settle` with what it has before another consumer comes.
//
// push     1  link := nil      2  previous := exchange(tail, node)
//          3  previous = nil: head := node, and the caller announces the list; else previous.link := node
// pop      1  next := link of head; next ≠ nil: head := next, done
//          2  head := nil      3  tail: node → nil; it worked: the list is empty, done
//          4  a pusher came in between: wait for link (MPSCList.M3), head := it
// Step 2 comes before step 3: after step 3 a first pusher may set head at any time, and step 2 must not erase that.
//
// So popping writes nothing that pushers write, unless the list becomes empty. With a backlog the line of `tail` stays with the
// pusher, and `head` may share it.
//
// The drain lock lets one thread at a time pop. Its hand-over also orders one consumer's `head` for the next.
//
// Rejected: a stub node that never leaves (one node more for each of a million queues, and an exchange when it cycles); a
// stack reversed by the consumer (a thread that looks at the first node only does not see the oldest one).
struct MPSCList: ~Copyable, @unchecked Sendable {  // both words are atomic; the nodes behind them follow MPSCList.M1–M4
  /// A node's address, where its link lies.
  typealias Node = UnsafeMutableRawPointer
  typealias Link = Atomic<Node?>

  private let newest = Link(nil)
  private let oldest = Link(nil)

  @inline(__always)
  init() {}

  /// Appends `node`. Any thread.
  ///
  /// - Returns: whether the list was empty. If so, this caller tells a consumer, after this has returned.
  @inline(__always)
  borrowing func push(_ node: Node) -> Bool {
    guard let previous = beginPush(node) else {
      endPush(first: node)
      return true
    }
    endPush(node, behind: previous)
    return false
  }

  /// The first half of `push`: no consumer reaches the node yet (MPSCList.M3).
  ///
  /// - Returns: the node before it, or nil if the list was empty.
  @inline(__always)
  borrowing func beginPush(_ node: Node) -> Node? {
    // relaxed: the exchange below publishes it.
    Self.link(node).pointee.store(nil, ordering: .relaxed)
    // pairs with: beginPush, pop – publishes the node's empty link to the next pusher, takes over that of the previous node
    return newest.exchange(node, ordering: .acquiringAndReleasing)
  }

  /// The second half.
  @inline(__always)
  borrowing func endPush(_ node: Node, behind previous: Node) {
    // unsafe: MPSCList.M4, the previous node stays until it is linked.
    // pairs with: pop – publishes the node's contents
    Self.link(previous).pointee.store(node, ordering: .releasing)
  }

  /// The second half, where there was no node before it. The caller tells a consumer afterwards.
  @inline(__always)
  borrowing func endPush(first node: Node) {
    // pairs with: head – publishes the node's contents
    oldest.store(node, ordering: .releasing)
  }

  /// Forgets the nodes, which stay where they are. For a forked child, whose only thread calls it: a push may be half done.
  borrowing func leaveAll() {
    // relaxed: there is no other thread.
    oldest.store(nil, ordering: .relaxed)
    newest.store(nil, ordering: .relaxed)
  }

  /// Whether everything that was pushed before has been popped. Any thread.
  @inline(__always)
  var tailIsNil: Bool {
    // relaxed: says where pushes stand; a thread that acts on it takes the drain lock, which orders the rest.
    newest.load(ordering: .relaxed) == nil
  }

  /// The newest node, or nil if there is none. It stays in the list until it is popped. Any thread.
  @inline(__always)
  var newestNode: Node? {
    // relaxed: as above; only the address counts.
    newest.load(ordering: .relaxed)
  }

  /// The oldest node, or nil if there is none or its push is half done. Consumer.
  @inline(__always)
  borrowing func head() -> Node? {
    // pairs with: endPush – publishes the first node's contents
    oldest.load(ordering: .acquiring)
  }

  /// Takes the line of the oldest node's address over, which `pop` will write. A thread that is about to be the consumer.
  @inline(__always)
  borrowing func preparePop() { oldest.prepareWrite() }

  /// Removes `head`, the oldest node. Consumer.
  ///
  /// Blocking: while a push is half done (MPSCList.M3).
  /// - Returns: the node that is now the oldest, or nil if the list is empty.
  @inline(__always)
  borrowing func pop(_ head: Node) -> Node? {
    // pairs with: endPush – publishes the next node's contents
    guard let next = Self.link(head).pointee.load(ordering: .acquiring) else { return popLast(head) }
    settle(next)
    return next
  }

  /// As `pop`, for a consumer that keeps what it returns (MPSCList.M5).
  @inline(__always)
  borrowing func popKept(_ head: Node) -> Node? {
    // pairs with: endPush – publishes the next node's contents
    Self.link(head).pointee.load(ordering: .acquiring) ?? popLast(head)
  }

  /// The last `popKept` has returned `kept`, and other consumers may come.
  @inline(__always)
  borrowing func settle(_ kept: Node) {
    // relaxed: only consumers read it now, and their lock orders them.
    oldest.store(kept, ordering: .relaxed)
  }

  @inline(__always)
  private borrowing func popLast(_ head: Node) -> Node? {
    // relaxed: published by the exchange below to the pusher that will overwrite it.
    oldest.store(nil, ordering: .relaxed)
    // relaxed: a failed exchange reads nothing; the link does.
    // pairs with: endPush – publishes the empty head to the next first pusher
    let (emptied, _) = newest.compareExchange(
      expected: head, desired: nil, successOrdering: .releasing, failureOrdering: .relaxed)
    return emptied ? nil : popOvertakenSlow(head)
  }

  @inline(never)
  private borrowing func popOvertakenSlow(_ head: Node) -> Node {
    let next = Self.successorSlow(of: head)
    settle(next)
    return next
  }

  /// The node after `node`, whose push has begun.
  private static func successorSlow(of node: Node) -> Node {
    var backoff = Backoff()
    while true {
      // pairs with: endPush – publishes the next node's contents
      if let next = link(node).pointee.load(ordering: .acquiring) { return next }
      backoff.wait()
    }
  }

  /// unsafe: the first word of a node is its link, for as long as the list knows the node.
  @inline(__always)
  static func link(_ node: Node) -> UnsafeMutablePointer<Link> {
    node.assumingMemoryBound(to: Link.self)
  }
}
