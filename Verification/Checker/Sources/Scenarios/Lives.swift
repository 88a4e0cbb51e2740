// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// Whole lives of sources and channels: they are made, something happens, they are cancelled or closed, and gone. One thread
// cancels; another one is the poller, which reports, or a worker, which delivers. What is left is run at the end.

/// What has happened to a source.
private final class Life: @unchecked Sendable {  // fibres take turns
  var events = 0, ends = 0

  /// Watches the source: no event comes after the cancel handler, which runs once.
  func follow(_ source: any DispatchSourceProtocol, event: @escaping () -> Void = {}) {
    source.setEventHandler {
      self.events += 1
      require(self.ends == 0, "an event has come after the cancel handler")
      event()
    }
    source.setCancelHandler { self.ends += 1 }
    source.activate()
  }

  /// All that was reported and submitted has run.
  func end(_ run: ScenarioRun) {
    poll()
    work()
    run.check(ends == 1, "the cancel handler has run \(ends) times")
  }
}

/// A source, and what makes it fire, on the thread that calls it.
private typealias Subject = (source: any DispatchSourceProtocol, report: () -> Void)

/// Two scenarios of one subject: it is reported to, or its event delivered, while it is cancelled. The canceller has the
/// program's only reference, gives it up, and may bring the source to its end.
private func lives(_ event: String, of file: String, _ make: @escaping () -> Subject) -> [Scenario] {
  func scenario(_ name: String, isReported: Bool) -> Scenario {
    protocolScenario(name, of: file, unusual: 0) { run in
      standInForPool()
      let life = Life()
      let (source, report) = make()
      life.follow(source)
      // It is registered.
      work()
      if isReported { report() }
      let reference = Box<(any DispatchSourceProtocol)?>(source)
      run.thread { if isReported { work(2) } else { report() } }
      run.thread {
        reference.value?.cancel()
        reference.value = nil
        if !isReported { work(2) }
      }
      run.finally { life.end(run) }
    }
  }
  return [
    scenario(event + ": the source is cancelled, and ends, meanwhile", isReported: false),
    scenario(event + ": it is delivered while the source is cancelled", isReported: true),
  ]
}

private func fireTimers() { _ = Engine.shared.pointee.timers.fireDue(in: Engine.shared.pointee) }

func lives() -> [Scenario] {
  lives("data are added", of: "DispatchSource") {
    let source = UserDataSource(handle: 0, mask: 0, queue: .global())
    return (source, { source.add(data: 1) })
  }
    + lives("a pipe becomes readable", of: "DispatchSource") {
      let pipe = makePipe()
      return (
        DispatchSource.makeReadSource(fileDescriptor: pipe.reading, queue: .global()),
        {
          _ = gc_write(pipe.writing, "x", 1)
          poll()
        }
      )
    }
    + lives("a signal comes", of: "SignalSource") {
      // The signal may come when no source watches it any more.
      ck_machine_ignore_signal(10)
      return (
        DispatchSource.makeSignalSource(signal: 10, queue: .global()),
        {
          ck_machine_raise(10)
          poll()
        }
      )
    }
    + lives("a timer fires", of: "TimedSource") {
      let source = DispatchSource.makeTimerSource(queue: .global())
      source.schedule(deadline: .now())
      ck_machine_compute(100_000)
      return (source, fireTimers)
    }
    + lives("a process ends", of: "ProcessSource") {
      let process = ck_machine_start_process(true)
      return (
        DispatchSource.makeProcessSource(identifier: process, eventMask: .exit, queue: .global()),
        {
          ck_machine_end_process(process, false, 0)
          poll()
        }
      )
    }
    + lives("a file changes", of: "FileSystemSource") {
      _ = ck_machine_make_file("/file", "x")
      let file = FileReading.open("/file", 0, 0)
      return (
        DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: .write, queue: .global()),
        {
          _ = ck_machine_append("/file", "x")
          poll()
        }
      )
    }
    + changes() + channelLives()
}

/// What the program changes of a source while it fires.
private func changes() -> [Scenario] {
  [
    protocolScenario("data are added while earlier ones are delivered: none are lost", of: "UserDataSource", unusual: 0)
    {
      run in
      standInForPool()
      let source = UserDataSource(handle: 0, mask: 0, queue: .global()), life = Life()
      var sum: UInt = 0
      life.follow(source) { sum += source.data }
      work()
      source.add(data: 1)
      run.thread { source.add(data: 1) }
      run.thread { work(2) }
      run.finally {
        work()
        run.check(sum == 2, "\(sum) of 2 were delivered")
        source.cancel()
        life.end(run)
      }
    },
    protocolScenario(
      "data are added while the source is suspended and resumed: none are lost", of: "DispatchSource", unusual: 0
    ) {
      run in
      standInForPool()
      let source = UserDataSource(handle: 0, mask: 0, queue: .global()), life = Life()
      var sum: UInt = 0
      life.follow(source) { sum += source.data }
      work()
      run.thread { source.add(data: 1) }
      run.thread {
        source.suspend()
        source.resume()
      }
      run.finally {
        work()
        run.check(sum == 1, "\(sum) of 1 were delivered")
        source.cancel()
        life.end(run)
      }
    },
    protocolScenario(
      "a timer fires while it gets another schedule: it fires by that one", of: "TimedSource", unusual: 0
    ) {
      run in
      standInForPool()
      let source = DispatchSource.makeTimerSource(queue: .global()), life = Life()
      source.schedule(deadline: .now())
      life.follow(source)
      work()
      ck_machine_compute(100_000)
      run.thread { fireTimers() }
      run.thread { source.schedule(deadline: .now() + .seconds(1)) }
      run.finally {
        work()
        let before = life.events
        ck_machine_compute(2_000_000_000)
        fireTimers()
        work()
        run.check(
          before <= 1 && life.events == before + 1, "\(before) events before the schedule's, \(life.events) in all")
        source.cancel()
        life.end(run)
      }
    },
  ]
}

/// What has happened to a channel's read.
private final class ReadLife: @unchecked Sendable {  // fibres take turns
  var bytes = 0, dones = 0, cleanups = 0
  var error: Int32 = -1

  func channel(_ descriptor: Int32, isRandom: Bool = false) -> IOChannel {
    IOChannel.make(
      isRandom: isRandom, descriptor: descriptor,
      cleanup: IOCleanup(
        queue: .global(),
        handler: { _ in
          require(self.dones == 1, "the channel's cleanup comes before its operation's end")
          self.cleanups += 1
        }))
  }

  func read(_ channel: IOChannel) {
    channel.submit(.read, at: 0, length: 2, data: nil, queue: .global()) { done, data, error in
      require(self.dones == 0, "the handler is called after the end")
      self.bytes += data?.count ?? 0
      if done {
        self.dones += 1
        self.error = error
      }
    }
  }

  func end(_ run: ScenarioRun) {
    for _ in 0..<4 {
      poll()
      work()
    }
    run.check(dones == 1 && cleanups == 1, "ended \(dones) times, cleaned up \(cleanups) times")
  }
}

private func channelLives() -> [Scenario] {
  [
    protocolScenario("a pipe is readable while the channel is stopped", of: "IOOperation", unusual: 0) {
      run in
      standInForPool()
      let pipe = makePipe(), life = ReadLife(), channel = life.channel(pipe.reading)
      life.read(channel)
      work()
      _ = gc_write(pipe.writing, "xy", 2)
      run.thread {
        poll()
        work(1)
      }
      run.thread { channel.close(stop: true) }
      run.finally {
        life.end(run)
        run.check(life.error == 0 ? life.bytes == 2 : life.error == Errno.canceled.code, "bytes were lost")
      }
    },
    protocolScenario("a ring's request lands while the channel is stopped", of: "IORequest", unusual: 0) {
      run in
      standInForPool()
      ck_machine_offer_rings(false)
      _ = ck_machine_make_file("/file", "xy")
      let life = ReadLife(), channel = life.channel(FileReading.open("/file", 0, 0), isRandom: true)
      life.read(channel)
      work()
      run.thread {
        _ = ck_machine_complete()
        poll()
      }
      run.thread { channel.close(stop: true) }
      run.thread { work(2) }
      run.finally {
        _ = ck_machine_complete()
        life.end(run)
      }
    },
  ]
}
