// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Channels under stress", .serialized)
struct IOChannelStress {
  /// What goes through one descriptor: the byte at each place follows from the place and the seed.
  private static func byte(_ place: Int, _ seed: UInt8) -> UInt8 { UInt8(truncatingIfNeeded: place &* 31) &+ seed }

  private static func bytes(_ range: Range<Int>, _ seed: UInt8) -> DispatchData {
    range.map { byte($0, seed) }.withUnsafeBytes { DispatchData(bytes: $0) }
  }

  /// Counts what handlers must do exactly once, and what they must never see.
  private final class Ledger: Sendable {
    let (wrong, ended, submitted, late) = (Counter(), Counter(), Counter(), Counter())
    let failures = Recorder<String>()
  }

  private static func openPair(_ random: inout SeededRandom) -> (Int32, Int32) {
    // A child that another test has started meanwhile must not hold an end open.
    guard let ends = random.oneIn(2) ? Kernel.closeOnExecSockets() : Kernel.closeOnExecPipe() else {
      preconditionFailure("descriptors: \(errno)")
    }
    return ends
  }

  /// One descriptor pair's life: writes and reads of any size, barriers, suspensions, and an end by closing, stopping or
  /// letting go.
  private static func live(_ random: inout SeededRandom, _ ledger: Ledger, _ queues: [DispatchQueue]) {
    let (reading, writing) = openPair(&random)
    let seed = UInt8(truncatingIfNeeded: random.next())
    let (cleaned, place, barriers) = (Latch(2), Unprotected(0), Counter())
    let ends: [Int32] = [reading, writing]
    let channels = ends.map { descriptor in
      DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queues[random.below(queues.count)]) { error in
        if error != 0 { ledger.failures.note("cleanup \(error)") }
        close(descriptor)
        cleaned.open()
      }
    }
    if random.oneIn(2) { channels[0].setLimit(highWater: 1 + random.below(5000)) }
    if random.oneIn(3) { channels[0].setLimit(lowWater: 1 + random.below(3000)) }
    if random.oneIn(4) { channels[0].setInterval(interval: .microseconds(200), flags: .strictInterval) }
    var total = 0
    for _ in 0..<1 + random.below(6) {
      let count = random.below(random.oneIn(4) ? 100_000 : 500)
      ledger.submitted.add()
      let end = total + count
      channels[1].write(
        offset: 0, data: bytes(total..<end, seed), queue: queues[random.below(queues.count)]
      ) { done, data, error in
        if done {
          ledger.ended.add()
          if error == 0, data != nil { ledger.failures.note("a rest without an error") }
        }
      }
      total = end
      ledger.submitted.add()
      channels[0].read(
        offset: 0, length: random.oneIn(3) ? .max : random.below(50_000), queue: queues[0]
      ) { done, data, error in
        // The handlers run on one serial queue, so the places follow each other.
        for found in data ?? .empty {
          if found != byte(place.value, seed) { ledger.wrong.add() }
          place.value += 1
        }
        if done { ledger.ended.add() }
      }
      if random.oneIn(4) { channels[random.below(2)].barrier { barriers.add() } }
      if random.oneIn(5) {
        let channel = channels[random.below(2)]
        channel.suspend()
        channel.resume()
      }
    }
    let isPatient = random.oneIn(2)
    if isPatient { sched_yield() }
    channels[1].close(flags: random.oneIn(3) ? .stop : [])
    // What reads to the end waits for the writer's; without it nothing is left to wait for but a stop.
    if random.oneIn(3) { channels[0].close(flags: .stop) } else { channels[0].close() }
    if !cleaned.wait() { ledger.failures.note("a channel did not end") }
  }

  @Test(
    "I2, I3, I5, I6: eight threads make, use, stop and close channels; each operation ends once, no byte goes astray")
  func churn() {
    let seed = Stress.seed("channel churn")
    let deadline = Stress.deadline()
    let ledger = Ledger()
    PlainThread.concurrently(8) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      let queues = [
        DispatchQueue(label: "places"), DispatchQueue(label: "serial"), .global(),
        DispatchQueue(label: "concurrent", attributes: .concurrent),
      ]
      repeat { Self.live(&random, ledger, queues) } while Stress.runs(until: deadline)
    }
    #expect(ledger.failures.values.isEmpty, "seed \(seed)")
    #expect(ledger.wrong.value == 0, "seed \(seed)")
    #expect(ledger.ended.value == ledger.submitted.value, "seed \(seed)")
  }

  @Test(
    "I4, I5: random reads and writes of one file from eight threads, stopped in between",
    arguments: ["/tmp", "/dev/shm"])
  func random(folder: String) {
    let seed = Stress.seed("random channel")
    let deadline = Stress.deadline()
    let (wrong, unended) = (Counter(), Counter())
    PlainThread.concurrently(8) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      var template = Array("\(folder)/gc-io-XXXXXX".utf8CString)
      let file = mkstemp(&template)
      unlink(template)
      let size = 1 << 20
      precondition(ftruncate(file, off_t(size)) == 0)
      repeat {
        let (cleaned, ended) = (Latch(), Counter())
        let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in cleaned.open() }
        let count = random.below(40)
        for _ in 0..<count {
          let place = random.below(size - 70_000)
          let range = place..<place + random.below(70_000)
          if random.oneIn(2) {
            channel.write(offset: place, data: Self.bytes(range, 0), queue: .global()) { done, _, error in
              if done { ended.add() }
              if error != 0 && error != ECANCELED { wrong.add() }
            }
          } else {
            let at = Unprotected(place)
            channel.read(offset: place, length: range.count, queue: .global()) { done, data, error in
              for found in data ?? .empty {
                // What nobody has written yet is a hole.
                if found != 0, found != Self.byte(at.value, 0) { wrong.add() }
                at.value += 1
              }
              if done { ended.add() }
              if error != 0 && error != ECANCELED { wrong.add() }
            }
          }
        }
        channel.close(flags: random.oneIn(2) ? .stop : [])
        if !cleaned.wait() || ended.value != count { unended.add() }
      } while Stress.runs(until: deadline)
      close(file)
    }
    #expect(wrong.value == 0, "seed \(seed)")
    #expect(unended.value == 0, "seed \(seed)")
  }
}
