// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// Dispositions and masks are the whole process's: each test runs a probe of its own.
@Suite("A signal source")
struct SignalSourceTests {
  @Test("S11: counts a signal that the program ignores already, and leaves it ignored at the end")
  func ignoredBefore() {
    let probe = Probe.run("signal-ignored-before")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 20, "\(probe)")
    #expect(probe["restored"] == "ignored", "\(probe)")
  }

  @Test("S11: goes on counting when the program ignores the signal later, and leaves it ignored at the end")
  func ignoredAfter() {
    let probe = Probe.run("signal-ignored-after")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 60, "\(probe)")
    #expect(probe["restored"] == "ignored", "\(probe)")
  }

  @Test("S11: works beside a handler of the program, installed before or after, which is in place again at the end")
  func handlers() {
    let probe = Probe.run("signal-handlers")
    #expect(probe.ended, "\(probe)")
    #expect(probe["both"] == "1", "\(probe)")
    #expect(probe.number("sum") == 20 && probe.number("later") == 20, "\(probe)")
    #expect(probe.number("former") == 20, "the handler that was replaced is not called: \(probe)")
    #expect(probe["restored"] == "handled" && probe["silent"] == "1", "\(probe)")
  }

  @Test("S11: calls a handler once that is to be called once, and counts on")
  func oneShotHandler() {
    let probe = Probe.run("signal-one-shot-handler")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 20 && probe.number("handled") == 1, "\(probe)")
    #expect(probe["restored"] == "default", "\(probe)")
  }

  @Test("S11: the last source of a signal restores the disposition, before its cancel handler; no other does")
  func restored() {
    let probe = Probe.run("signal-restored")
    #expect(probe.ended, "\(probe)")
    #expect(probe["before"] == "default" && probe["first"] == "handled" && probe["second"] == "default", "\(probe)")
    #expect(probe.number("again") == 20, "\(probe)")
  }

  @Test("S11: several sources of a signal each count all of it, and no other signal")
  func several() {
    let probe = Probe.run("signal-several")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("other") == 0, "\(probe)")
    #expect(probe.numbers("counts") == [20, 20, 40, 20], "\(probe)")
  }

  @Test("S2, S11: suspended, it adds up, and delivers one event on resume")
  func suspended() {
    let probe = Probe.run("signal-suspended")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("during") == 0, "\(probe)")
    #expect(probe.number("sum") == 21 && probe.number("calls") == 2, "\(probe)")
  }

  @Test("S11: of a burst it counts at least one and at most all; of queued signals, all")
  func burst() {
    let probe = Probe.run("signal-burst")
    #expect(probe.ended, "\(probe)")
    #expect((1...1000).contains(probe.number("usual") ?? 0), "\(probe)")
    #expect(probe.number("queued") == 1000, "\(probe)")
  }

  @Test("S11: gets a signal that all threads of the program block, idle or busy, and leaves it blocked for them")
  func blocked() {
    let probe = Probe.run("signal-blocked")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 40 && probe["stillBlocked"] == "1", "\(probe)")
  }

  @Test("S11: gets such a signal also if somebody was waiting for events already when the source came")
  func blockedWhilePolling() {
    let probe = Probe.run("signal-blocked-while-polling")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 20, "\(probe)")
  }

  @Test("S11: gets signals that are sent to one thread, whatever the others block")
  func threads() {
    let probe = Probe.run("signal-threads")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 40, "\(probe)")
  }

  @Test("S11: gets signals that items send to the pool's own threads, at the latest when these end")
  func ownThreads() {
    let probe = Probe.run("signal-own-threads")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("count") == 4, "\(probe)")
  }

  @Test("S11: pool threads leave a signal that the program blocks and waits for to the program")
  func waitForSignal() {
    let probe = Probe.run("signal-wait")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("taken") == 100 && probe.number("count") == 20, "\(probe)")
  }

  @Test("S11: the ends of many children lead to all of them, though the kernel merges their signals")
  func children() {
    let probe = Probe.run("signal-children")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("reaped") == 60, "\(probe)")
    #expect((1...60).contains(probe.number("count") ?? 0), "\(probe)")
  }

  @Test("S11: a program that ignores its children's ends has no zombies, and a source all the same")
  func childrenIgnored() {
    let probe = Probe.run("signal-children-ignored")
    #expect(probe.ended, "\(probe)")
    #expect((1...5).contains(probe.number("count") ?? 0), "\(probe)")
  }

  @Test("S11: a child that an item starts inherits no block and no disposition from us")
  func spawn() {
    let probe = Probe.run("signal-spawn")
    #expect(probe.ended, "\(probe)")
    // SIGHUP, which main blocks. A sanitizer's posix_spawn is not the library's.
    #expect(probe["blockedFromMain"] == "1" && (Kernel.isSanitized || probe["blockedFromItem"] == "1"), "\(probe)")
    #expect(probe["ignored"] == "0" && probe["caught"] == "0", "\(probe)")
  }

  @Test(
    "E5, S11: a forked child has the program's dispositions and sources of its own; the parent hears nothing of it",
    .enabled(if: !Kernel.isThreadSanitized, "ThreadSanitizer starts no thread after a fork"))
  func fork() {
    let probe = Probe.run("signal-fork")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("mortal") == Int(SIGUSR1), "\(probe)")
    #expect(probe.number("child") == 0, "\(probe)")
    #expect(probe.number("parent") == 6, "\(probe)")
  }

  @Test(
    "S11: what a child of vfork does with a watched signal is the child's own",
    .enabled(if: !Kernel.isThreadSanitized, "ThreadSanitizer makes a fork of a vfork"))
  func vfork() {
    let probe = Probe.run("signal-vfork")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("child") == 5, "\(probe)")
    #expect(probe.number("handled") == 1, "\(probe)")
    #expect(probe.number("isSame") == 1 && probe.number("isRestored") == 1, "\(probe)")
    #expect(probe["afterwards"] == "handled", "\(probe)")
  }
}
