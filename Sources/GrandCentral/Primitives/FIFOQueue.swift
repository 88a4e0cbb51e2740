// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A FIFO queue that any number of threads put into and take from: linearizable, unbounded, without locks.
//
//   headSegment                              tailSegment
//      │                                        │
//      ▼                                        ▼
//   [c c c v v v … v] ─next─► [v v … v] ─next─► [v v v · · … ·]       c consumed   v value   · empty
//          ▲ headIndex                                 ▲ tailIndex
//
//   | word        | means                                                      | letter |
//   |-------------|------------------------------------------------------------|--------|
//   | tailIndex   | the next enqueue's ticket                                  | A      |
//   | headIndex   | the next dequeue's ticket                                  | A      |
//   | knownTail   | some value that tailIndex had: spares takers its line      | A      |
//   | tailSegment | where the tail's tickets have their slots; headSegment too | A      |
//   | spare       | one emptied segment, to be used again                      | A      |
//   | limbo       | retired segments with slots that are still being read      | A      |
//
// A ticket is 64 bits: its low six bits are the slot's place in a segment, so it tells a segment apart as well, and
// never comes back. Place 63 has no slot: an index stands there while the thread that took place 62 moves it on.
//
// FIFOQueue.F1  headIndex ≤ tailIndex. The queue holds the values of the tickets in between; order of tickets is its
//     order.
// FIFOQueue.F2  A ticket belongs to the one thread whose exchange moved the index past it, and with it one side of one
//     slot.
// FIFOQueue.F3  While an index stands at a place with a slot, its segment word belongs to it: segment words change only while
//     the index stands at place 63. So an exchange that succeeds proves that the segment read before it was right, and a
//     thread whose exchange fails never touches the segment it had read. No thread reads freed memory. This needs an acquiring
//     load of the index, then a load of the segment word. The acquiring load makes sure that the segment is not older than the
//     index: with a relaxed load the segment may be read first, before the index moves into the next segment, and the
//     exchange, which compares the index only, succeeds. The segment may not be newer than the index either: so all exchanges
//     of an index release. The load of the segment comes before the thread's own exchange. That exchange comes before the next
//     thread's acquiring load of the index, and so on, up to the exchange of place 62. The exchange of place 62 comes before
//     the store of the newer segment. So the load cannot have read the newer segment.
// FIFOQueue.F4  A slot goes empty → value → consumed. The thread that took the segment's last ticket retires it. No thread
//     uses a retired segment any more once all of its slots are consumed: it is emptied and used again, or freed.
//
// enqueue  1  ticket := tailIndex; at 63: wait      2  at 62: have the next segment ready    3  tailIndex +1
//          4  at 62: tailSegment := next, tailIndex +1, link it    5  slot := value
// dequeue  1  ticket := headIndex; at 63: wait      2  headIndex = tailIndex: empty          3  headIndex +1
//          4  at 62: wait for the link, headSegment := next, headIndex +1
//          5  wait for the slot's value (its enqueuer is between steps 3 and 5)   6  slot := consumed
//          7  at 62: retire the segment
//
// Linearization: an enqueue at its step 3; a dequeue at its step 3, or, if it finds nothing, at the load of tailIndex:
// headIndex was read before and both only grow, so at that moment they were equal.
// Without contention: one exchange and one store each. If a thread is stopped between taking a ticket and using it, only the
// thread that takes the ticket's other side waits; at place 62, which is once in 63, all threads of its side wait.
//
// Rejected: hazard pointers or epochs (a fence per operation, and garbage); a counter of readers per segment (an atomic
// update more per dequeue; looking at 63 slots costs that once per segment); fetch-and-add tickets (a ticket past the
// end of a segment has no slot, and giving it up is not linearizable).
struct FIFOQueue: ~Copyable, @unchecked Sendable {  // all words are atomic; slots follow FIFOQueue.F2 and FIFOQueue.F4
  typealias Value = UnsafeMutableRawPointer

  private let headIndex = Atomic<UInt64>(0)
  private let knownTail = Atomic<UInt64>(0)
  private let headSegment: Atomic<UnsafeMutableRawPointer>
  private let gapBehindHead = CacheLine.Gap()
  private let tailIndex = Atomic<UInt64>(0)
  let tailSegment: Atomic<UnsafeMutableRawPointer>
  private let gapBehindTail = CacheLine.Gap()
  private let spare = Atomic<UnsafeMutableRawPointer?>(nil)
  private let limbo = Atomic<UnsafeMutableRawPointer?>(nil)
  private let gapBehindAll = CacheLine.Gap()

  init() {
    let first = Segment.make().raw
    headSegment = Atomic(first)
    tailSegment = Atomic(first)
  }

  /// No other thread knows the queue any more. Values left in it are forgotten.
  deinit {
    // relaxed: one thread is left, and whatever made it the last one has ordered the others.
    Segment.freeChain(headSegment.load(ordering: .relaxed))
    Segment.freeChain(spare.load(ordering: .relaxed))
    Segment.freeChain(limbo.load(ordering: .relaxed))
  }

  /// Changes with each value that is taken out.
  var taken: UInt64 {
    // relaxed: an observation.
    headIndex.load(ordering: .relaxed)
  }

  // MARK: Putting in

  /// Appends `value`. Any thread.
  @inline(__always)
  borrowing func enqueue(_ value: Value) {
    // The exchange follows at once: the look would only borrow the line.
    tailIndex.prepareWrite()
    // pairs with: enqueueLast – publishes the segment that the index stands in (FIFOQueue.F3)
    let ticket = tailIndex.load(ordering: .acquiring)
    if Segment.place(ticket) < Segment.lastPlace {
      // relaxed: the index has published it, and moveTail orders this load (FIFOQueue.F3).
      let segment = Segment(raw: tailSegment.load(ordering: .relaxed))
      if moveTail(from: ticket) {
        segment.write(value, at: Segment.place(ticket))
        return
      }
    }
    enqueueSlow(value)
  }

  /// Takes the ticket `ticket` if it is the next one.
  @inline(__always)
  private borrowing func moveTail(from ticket: UInt64) -> Bool {
    // seq-cst: an enqueuer takes a ticket and then looks for sleepers; a consumer becomes a sleeper and then looks
    // here. If the looks could pass the ticket, each would miss the other.
    // relaxed: a failed exchange is followed by another look.
    tailIndex.weakCompareExchange(
      expected: ticket, desired: ticket &+ 1, successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed
    ).exchanged
  }

  @inline(never)
  private borrowing func enqueueSlow(_ value: Value) {
    // Apart, as in `dequeueSlow`.
    var backoff = Backoff()
    var losses = Backoff()
    while true {
      // pairs with: enqueueLast – publishes the segment that the index stands in
      let ticket = tailIndex.load(ordering: .acquiring)
      let place = Segment.place(ticket)
      if place == Segment.places {
        backoff.wait()
        continue
      }
      if place == Segment.lastPlace {
        if enqueueLast(value, ticket) { return }
      } else {
        // relaxed: the index has published it, and moveTail orders this load (FIFOQueue.F3).
        let segment = Segment(raw: tailSegment.load(ordering: .relaxed))
        if moveTail(from: ticket) {
          segment.write(value, at: place)
          return
        }
      }
      losses.pause()
    }
  }

  /// Takes the last ticket of a segment and makes the next segment the tail.
  private borrowing func enqueueLast(_ value: Value, _ ticket: UInt64) -> Bool {
    let next = takeSpare()
    // relaxed: the index has published it, and moveTail orders this load (FIFOQueue.F3).
    let segment = Segment(raw: tailSegment.load(ordering: .relaxed))
    guard moveTail(from: ticket) else {
      giveSpare(next)
      return false
    }
    // relaxed: the index publishes it.
    tailSegment.store(next.raw, ordering: .relaxed)
    // pairs with: enqueue, enqueueSlow – publishes the segment word and the empty segment
    tailIndex.store(ticket &+ 2, ordering: .releasing)
    // pairs with: findNext – publishes the empty segment
    segment.next.pointee.store(next.raw, ordering: .releasing)

    segment.write(value, at: Segment.lastPlace)
    return true
  }

  // MARK: Taking out

  /// Removes and returns the oldest value, or nil if the queue is empty. Any thread.
  @inline(__always)
  borrowing func dequeue() -> Value? {
    // pairs with: dequeueLast – publishes the segment that the index stands in
    // pairs with: moveHead – publishes that the takers before have read the segment word (FIFOQueue.F3)
    let ticket = headIndex.load(ordering: .acquiring)
    let place = Segment.place(ticket)
    if place < Segment.lastPlace {
      let tail = tail(behind: ticket)
      if tail <= ticket { return nil }
      // relaxed: the index has published it, and moveHead orders this load (FIFOQueue.F3).
      let segment = Segment(raw: headSegment.load(ordering: .relaxed))
      if moveHead(from: ticket, tail) { return segment.read(at: place) }
    }
    return dequeueSlow()
  }

  /// A value that the tail has had: it is beyond `ticket` if, and only if, the ticket has been given out.
  @inline(__always)
  private borrowing func tail(behind ticket: UInt64) -> UInt64 {
    // relaxed: any value that the tail ever had proves as much.
    let known = knownTail.load(ordering: .relaxed)
    // seq-cst: see moveTail.
    return ticket < known ? known : tailIndex.load(ordering: .sequentiallyConsistent)
  }

  /// Takes the ticket `ticket` if it is the next one; `tail` is beyond it.
  ///
  /// The next takers are spared the look at the tail if more has been given out: only the thread that has taken the ticket
  /// says so. If every thread that looks said so, the line would go to and fro among all that want the same ticket.
  @inline(__always)
  private borrowing func moveHead(from ticket: UInt64, _ tail: UInt64) -> Bool {
    // pairs with: dequeue, dequeueSlow, isEmpty – publishes that the taker has read the segment word (FIFOQueue.F3) and
    // the tail. It acquires nothing: the index has been loaded so, and no value of it comes twice.
    // relaxed: a failed exchange is followed by another look.
    let (taken, _) = headIndex.weakCompareExchange(
      expected: ticket, desired: ticket &+ 1, successOrdering: .releasing, failureOrdering: .relaxed)
    // relaxed: see tail(behind:); of two threads that write it, the one with the older value may win.
    if taken, tail > ticket &+ 1, tail != knownTail.load(ordering: .relaxed) {
      knownTail.store(tail, ordering: .relaxed)
    }
    return taken
  }

  @inline(never)
  private borrowing func dequeueSlow() -> Value? {
    // Apart: exchanges that were lost do not shorten the spins for a segment.
    var backoff = Backoff()
    var losses = Backoff()
    while true {
      // pairs with: dequeueLast – publishes the segment that the index stands in
      let ticket = headIndex.load(ordering: .acquiring)
      let place = Segment.place(ticket)
      if place == Segment.places {
        backoff.wait()
        continue
      }
      let tail = tail(behind: ticket)
      if tail <= ticket { return nil }
      // relaxed: the index has published it, and moveHead orders this load (FIFOQueue.F3).
      let segment = Segment(raw: headSegment.load(ordering: .relaxed))
      if !moveHead(from: ticket, tail) {
        losses.pause()
        continue
      }
      return place == Segment.lastPlace ? dequeueLast(segment, ticket) : segment.read(at: place)
    }
  }

  /// The caller has taken the segment's last ticket.
  private borrowing func dequeueLast(_ segment: Segment, _ ticket: UInt64) -> Value {
    let next = segment.findNext()
    // relaxed: the index publishes it.
    headSegment.store(next.raw, ordering: .relaxed)
    // pairs with: dequeue, dequeueSlow – publishes the segment word and the segment, which findNext has acquired
    headIndex.store(ticket &+ 2, ordering: .releasing)

    let value = segment.read(at: Segment.lastPlace)
    retire(segment)
    return value
  }

  // MARK: Looking

  /// Whether the queue held nothing at some moment during the call; false while an enqueue is half done.
  @inline(__always)
  var isEmpty: Bool {
    // pairs with: moveHead – publishes the tail that the taker has seen: so equal means empty at the second load
    let head = headIndex.load(ordering: .acquiring)
    // seq-cst: see moveTail.
    let tail = tailIndex.load(ordering: .sequentiallyConsistent)
    return Segment.position(head) >= Segment.position(tail)
  }

  /// How many values there were at about the time of the call.
  var count: Int {
    // relaxed: an estimate.
    let head = headIndex.load(ordering: .relaxed)
    let tail = tailIndex.load(ordering: .relaxed)
    return max(0, Int(Segment.position(tail)) - Int(Segment.position(head)))
  }

  // MARK: Segments

  private borrowing func takeSpare() -> Segment {
    // pairs with: giveSpare – publishes the emptied slots
    guard let raw = spare.exchange(nil, ordering: .acquiring) else { return Segment.make() }
    return Segment(raw: raw)
  }

  private borrowing func giveSpare(_ segment: Segment) {
    // relaxed: a failed exchange reads nothing.
    // pairs with: takeSpare – publishes the emptied slots
    let (kept, _) = spare.compareExchange(
      expected: nil, desired: segment.raw, successOrdering: .releasing, failureOrdering: .relaxed)
    if !kept { Memory.free(segment.raw) }
  }

  /// Empties the segment, and those in limbo, to be used again; a segment that is still being read goes (back) to limbo.
  borrowing func retire(_ segment: Segment) {
    // relaxed: the common case is nil, without an exchange.
    // pairs with: postpone – publishes the segments' links
    var waiting = limbo.load(ordering: .relaxed) == nil ? nil : limbo.exchange(nil, ordering: .acquiring)
    recycle(segment)
    while let raw = waiting {
      // relaxed: the chain is this thread's since the exchange.
      waiting = Segment(raw: raw).next.pointee.load(ordering: .relaxed)
      recycle(Segment(raw: raw))
    }
  }

  private borrowing func recycle(_ segment: Segment) {
    if segment.isConsumed {
      segment.clear()
      giveSpare(segment)
    } else {
      postpone(segment)
    }
  }

  /// A reader of the segment was stopped on its way from ticket to slot: a thread that retires a later segment looks again.
  @inline(never)
  private borrowing func postpone(_ segment: Segment) {
    // relaxed: verified by the exchange.
    var first = limbo.load(ordering: .relaxed)
    while true {
      // relaxed: published by the exchange. The link is free for this: the thread that took the last ticket has followed it.
      segment.next.pointee.store(first, ordering: .relaxed)
      // relaxed: a failed exchange is followed by another one.
      // pairs with: retire – publishes the link
      let (done, found) = limbo.weakCompareExchange(
        expected: first, desired: segment.raw, successOrdering: .releasing, failureOrdering: .relaxed)
      if done { return }
      first = found
    }
  }
}
