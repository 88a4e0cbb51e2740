// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@Suite("What other processes may look at")
struct InsightTests {
  @Test("F3: a thread that waits says for what, inside which queue, and which thread holds it")
  func waits() {
    let result = Probe.run("insight-waits")
    #expect(result.ended, "\(result)")
    #expect(result["waitsFor"] == "held")
    #expect(result["inside"] == "inner")
    #expect(result["ownerInside"] == "held")
    #expect(result["ownerIsHolder"] == "1")
    #expect(result["numbered"] == "held")
    #expect(result["wait"] == "0", "a thread that is back says so")
  }

  @Test("F3: each item is one record, and each submission; they name the same function, and do not overlap")
  func records() {
    let result = Probe.run("insight-records", environment: ["GRANDCENTRAL_RECORD": "collect"])
    #expect(result.ended, "\(result)")
    #expect(result.number("items") == 20_000)
    #expect(result.number("submissions") == 20_000)
    #expect(result.number("functions") == 1)
    #expect(result["sameFunction"] == "1")
    #expect(result.number("syncs") == 1)
    #expect(result.number("syncEnds") == 1)
    #expect(result.number("overlapping") == 0)
    #expect(result.number("lost") == 0)
  }

  @Test("F3: changes of target, signals, groups that empty, transfers, helpers, thefts and spans are recorded")
  func kinds() {
    let result = Probe.run("insight-kinds", environment: ["GRANDCENTRAL_RECORD": "collect"])
    #expect(result.ended, "\(result)")
    #expect(result["retargeted"] == "1")
    #expect(result["target"] == "second")
    #expect(result.number("signals") == 1)
    #expect(result.number("emptied") == 1)
    #expect(result.number("written") == 3)
    #expect(result.number("read") == 3)
    #expect(result["helped"] == "1")
    #expect(result["stolen"] == "1")
    #expect(result.number("spans") == 2)
    #expect(result.number("innerSpans") == 1)
    #expect(result.number("spanNames") == 2)
  }

  @Test("K2: readers are recorded, whatever they go through, and so are queues below concurrent ones")
  func readers() {
    let result = Probe.run("insight-readers", environment: ["GRANDCENTRAL_RECORD": "collect"])
    #expect(result.ended, "\(result)")
    for queue in ["broad", "above", "narrow"] {
      #expect(result.number(queue + "Items") == 1_000, "\(result)")
      #expect(result.number(queue + "Submissions") == 1_000, "\(result)")
      #expect(result.number(queue + "Functions") == 1, "\(result)")
    }
  }

  @Test("K2: each item of a pool's queue and of queues above it is recorded once; their turns are no items")
  func pools() {
    let result = Probe.run("insight-pools", environment: ["GRANDCENTRAL_RECORD": "collect"])
    #expect(result.ended, "\(result)")
    for queue in ["pooled", "above", "broad"] {
      #expect(result.number(queue + "Items") == 100, "\(result)")
      #expect(result.number(queue + "Submissions") == 100, "\(result)")
      #expect(result.number(queue + "Functions") == 1, "\(result)")
    }
  }

  @Test("K2: items of a global queue that have another quality of service are recorded, and run")
  func bands() {
    let result = Probe.run("insight-bands", environment: ["GRANDCENTRAL_RECORD": "collect"])
    #expect(result.ended, "\(result)")
    #expect(result.number("items") == 1_000 && result.number("submissions") == 1_000, "\(result)")
  }

  @Test("K1: threads of the program's own that wait for each other are seen, though there is no worker")
  func plainThreads() {
    let result = Probe.run("insight-plain-threads")
    #expect(result.ended, "\(result)")
    #expect(result["waitsFor"] == "held")
  }

  @Test("K1: threads that wait, and for which there is no room, are counted")
  func manyWaits() {
    let result = Probe.run("insight-many-waits")
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result.number("listed") == 256 && result.number("leftOut") == 44, "\(result)")
    #expect(result.number("leftOutAfterwards") == 0)
  }

  @Test("K1: the region's descriptor is never a standard stream's, however few descriptors there may be")
  func fewDescriptors() throws {
    let result = Probe.run("insight-few-descriptors")
    #expect(result.ended, "\(result)")
    #expect(try #require(result.number("number")) > 2, "\(result)")
    #expect(result["free"] == "1", "\(result)")
  }

  @Test("K1: where all numbers are given, one is given again once its object has gone, and no search is made before")
  func fullTable() {
    let result = Probe.run("insight-full-table", environment: ["GRANDCENTRAL_INSPECT": "1"])
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result["full"] == "1", "\(result)")
    #expect(result.number("taken") == 0, "\(result)")
    #expect(result["ended"] == "1" && result["again"] == "1", "\(result)")
  }

  @Test("K1: a program whose files must be small has no region, and runs")
  func smallFiles() {
    let result = Probe.run("insight-small-files")
    #expect(result.ended, "\(result)")
    #expect(result["region"] == "0")
  }

  @Test(
    "F3: the flight recorder keeps the newest records, in the same memory; so does what a traced process starts",
    arguments: [
      ["GRANDCENTRAL_RECORD": "ring"],
      // What the tool has handed down is another process's: the number is none of a page that could be taken.
      ["GRANDCENTRAL_RECORD": "collect", "GRANDCENTRAL_REGION": "999"],
    ])
  func ring(environment: [String: String]) throws {
    let result = Probe.run("insight-ring", environment: environment)
    #expect(result.ended, "\(result)")
    // Each thread that has records keeps four chunks, besides the one that it writes.
    #expect(try #require(result.number("chunks")) <= 40)
    #expect(result["full"] == "1")
    #expect(result["newest"] == "1")
  }

  @Test("E5, F3: the parent's region is not the child's, which has one when it uses the engine")
  func forks() {
    let result = Probe.run("insight-fork")
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result["childBefore"] == "1")
    #expect(result["childOwn"] == "1")
    #expect(result["childAlone"] == "1")
    #expect(result.number("child") == 0)
    #expect(result["parentStays"] == "1")
  }

  @Test("F3: a program that closes the region's descriptor goes on, and so does its child")
  func closed() {
    let result = Probe.run("insight-closed")
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result["closed"] == "1")
    #expect(result.number("child") == 0)
  }

  @Test("F3: the region is there once a worker has slept, and not before", arguments: ["on", "off"])
  func presence(setting: String) {
    let result = Probe.run("insight-presence", environment: ["GRANDCENTRAL_INSIGHT": setting])
    #expect(result.ended, "\(result)")
    #expect(result["before"] == "0")
    #expect(result["after"] == (setting == "on" ? "1" : "0"))
  }

  @Test("F3: a snapshot lists the queues with their kinds, targets, widths and suspensions")
  func queues() {
    let result = Probe.run("insight-queues", environment: ["GRANDCENTRAL_INSPECT": "1"])
    #expect(result.ended, "\(result)")
    #expect(result["kind"] == "concurrent")
    #expect(result.number("suspensions") == 2)
    #expect(result["target"] == "target")
    #expect(result.number("width") == 0, "no limit")
    #expect(result["inactive"] == "1")
    #expect(result["gone"] == "0")
    #expect(result.number("resumed") == 0)
    #expect(result["activated"] == "1")
  }

  @Test("F3: a snapshot lists sources, timers, groups and channels with their states, where that is asked for")
  func objects() {
    let result = Probe.run("insight-objects", environment: ["GRANDCENTRAL_INSPECT": "1"])
    #expect(result.ended, "\(result)")
    #expect(result["remaining"] == "1")
    #expect(result["interval"] == "1")
    #expect(result["target"] == "handlers")
    #expect(result["descriptor"] == "1")
    #expect(result.number("suspensions") == 1)
    #expect(result["active"] == "1")
    #expect(result.number("signal") == 12)
    #expect(result["inactive"] == "1")
    #expect(result.number("members") == 2)
    #expect(result["channelDescriptor"] == "1")
    #expect(result.number("operations") == 1)
    #expect(result["pending"] == "1")
    #expect(result.number("pendingAfter") == 0)
    #expect(result["closed"] == "1")
    #expect(result["firesNoMore"] == "1")
    #expect(result["cancelled"] == "1")
    #expect(result.number("left") == 0)
    #expect(result.number("gone") == 1)
  }

  @Test("F3: what a killed tool has left on is turned off, and not what the program has turned on")
  func leftover() {
    let result = Probe.run("insight-leftover")
    #expect(result.ended, "\(result)")
    #expect(result["toolLives"] == "1")
    #expect(result["toolIsGone"] == "0")
    #expect(result["programAsks"] == "1")
  }

  @Test("F3: what the environment asked for when the program began stays on, though a killed tool wanted it as well")
  func leftoverOfWishes() {
    let result = Probe.run("insight-leftover", environment: ["GRANDCENTRAL_INSPECT": "1"])
    #expect(result.ended, "\(result)")
    #expect(result["toolIsGone"] == "1", "\(result)")
  }

  @Test("F3: a group and a channel that were made before that is asked for are listed once they are used again")
  func late() {
    let result = Probe.run("insight-late")
    #expect(result.ended, "\(result)")
    #expect(result.number("before") == 0 && result.number("unused") == 0)
    #expect(result.number("entered") == 4)
    #expect(result.number("left") == 2)
    #expect(result.number("operations") == 1)
    #expect(result["descriptor"] == "1")
  }

  @Test("F3: a group that is listed while threads enter and leave it has none of them left in the end")
  func lateGroups() {
    let result = Probe.run("insight-late-groups")
    #expect(result.ended, "\(result)")
    #expect(result["listed"] == "1")
    #expect(result.number("wrong") == 0)
  }

  @Test("K1: a channel whose barrier has to wait is listed, with what its operation waits for")
  func barrier() {
    let result = Probe.run("insight-barrier")
    #expect(result.ended, "\(result)")
    #expect(result.number("before") == 0)
    #expect(result.number("barriers") == 1)
    #expect(result["waits"] == "1")
    #expect(result.number("barriersAfter") == 0)
    #expect(result.number("waitsAfter") == 0)
  }

  @Test("K1: a worker in its first item is shown before it has an entry, and no more once it has one")
  func firstItem() {
    let result = Probe.run("insight-first-item")
    #expect(result.ended, "\(result)")
    #expect(result["shown"] == "1")
    #expect(result["hasEntry"] == "0")
    #expect(result["shownAfterwards"] == "0")
  }

  @Test("F3: they have no entries where nobody asks")
  func objectsUnasked() {
    let result = Probe.run("insight-objects")
    #expect(result.ended, "\(result)")
    for kind in ["timers", "sources", "groups"] { #expect(result.number(kind) == 0) }
  }
}
