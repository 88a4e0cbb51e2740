// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

/// An operation whose step is the scenario's: kicks leave a note, and send nothing.
private func operation(of file: IOFile?) -> IOOperation {
  let made = IOOperation(
    .read, offset: nil, length: 1, limits: IOLimits(), file: file, channel: nil, queue: sleepingQueue(),
    handler: { _, _, _ in
    })
  made.state.update { $0.rawValue = IOState.running }
  return made
}

/// The file of a pipe's reading end.
private func pipeFile(_ descriptor: Int32) -> IOFile {
  guard case .success(let file) = IOScheduler.shared.files.enter(descriptor) else { fatalError("the pipe has no file") }
  return file
}

/// A request for a byte, of an operation whose step is the scenario's.
private func request(of operation: IOOperation, _ file: IOFile) -> IORequest {
  var span = IOSpan(start: UnsafeMutableRawPointer(bitPattern: 16), count: 1)
  return IORequest(operation, file, &span, 1, at: FileReading.Offset.position)
}

func channels() -> [Scenario] {
  [
    protocolScenario("a resumed channel publishes to a thread that sees it", of: "IOChannel", unusual: 0) { run in
      let pipe = makePipe(), data = Plain()
      let channel = IOChannel.make(
        isRandom: false, descriptor: pipe.reading, cleanup: IOCleanup(queue: sleepingQueue(), handler: { _ in }))
      channel.suspend()
      run.thread {
        data.value = 1
        run.check(channel.resume(), "there was nothing to resume")
      }
      run.thread {
        if !channel.isSuspended { run.check(data.value == 1, "what came before the resumption is not seen") }
      }
    },
    protocolScenario("a thread that finds a file open has its descriptor", of: "IOFile", unusual: 0) { run in
      _ = ck_machine_make_file("/file", "x")
      let file = IOFile(path: "/file", flags: 0, mode: 0), step = operation(of: file)
      let scheduler = IOScheduler.shared
      scheduler.files.enter(file)
      // As when an operation has asked for it.
      file.opening.store(IOFile.Opening.opening, ordering: .relaxed)
      var isLater = false
      run.thread { file.open() }
      run.thread {
        switch file.readiness(for: step) {
        case .open: run.check(file.rawDescriptor >= 0, "the file is open, and has no descriptor")
        case .later: isLater = true
        case .failed: run.check(false, "the file could not be opened")
        }
      }
      run.finally {
        run.check(!isLater || step.state.load().has(IOState.again), "the operation that waits was not kicked")
      }
    },
    protocolScenario("an operation that waits for readiness is kicked", of: "IOFile", unusual: 0) { run in
      standInForPool()
      let pipe = makePipe(), file = pipeFile(pipe.reading)
      let wait = file.wait(.read), first = operation(of: file)
      _ = wait.wait(first, pipe.reading, .read)
      wait.stopWaiting(first)
      var step: IOOperation?
      run.thread {
        let made = operation(of: file)
        step = made
        guard case .waits = wait.wait(made, pipe.reading, .read) else { return run.check(false, "it does not wait") }
      }
      run.thread {
        _ = gc_write(pipe.writing, "x", 1)
        poll()
      }
      run.finally {
        poll()
        run.check(step!.state.load().has(IOState.again), "the operation was not kicked")
        run.check(!wait.isWaiting(step!), "the operation waits after its kick")
      }
    },
    protocolScenario("an operation that stops waiting is let go once", of: "IOFile", unusual: 0) { run in
      standInForPool()
      let pipe = makePipe(), file = pipeFile(pipe.reading)
      let wait = file.wait(.read), step = operation(of: file)
      _ = wait.wait(step, pipe.reading, .read)
      run.thread { wait.stopWaiting(step) }
      run.thread {
        _ = gc_write(pipe.writing, "x", 1)
        poll()
      }
      run.finally { run.check(!wait.isWaiting(step), "the operation still waits") }
    },
    protocolScenario("the watch is its owner's when the last user has ended it", of: "IOFile", unusual: 0) { run in
      standInForPool()
      let pipe = makePipe(), file = pipeFile(pipe.reading)
      let wait = file.wait(.read), step = operation(of: file)
      _ = wait.wait(step, pipe.reading, .read)
      wait.stopWaiting(step)
      // The program closes it behind the watch's back: the table says so to the next thread that asks.
      let table = DescriptorWatch.Pointer.allocate(capacity: 1)
      table.initialize(
        to: DescriptorWatch(pipe.reading, .readable, context: UnsafeMutableRawPointer(table), report: { _, _ in true }))
      _ = gc_close(pipe.reading)
      run.thread { _ = Engine.shared.pointee.poller.watch(table, in: Engine.shared.pointee) }
      run.thread {
        wait.end()
        ck_plain_write(wait.watch!, MemoryLayout<DescriptorWatch>.size)
      }
    },
    protocolScenario("a request lands or is abandoned: its bytes go one way", of: "IORequest", unusual: 0) { run in
      let pipe = makePipe(), file = pipeFile(pipe.reading), step = operation(of: pipeFile(pipe.reading))
      let way = request(of: step, file), bytes = Plain()
      let buffer = IOScheduler.shared.buffers.take()
      run.thread {
        bytes.value = 1
        way.complete(1)
      }
      run.thread {
        if !way.abandon(buffer) { run.check(bytes.value == 1, "the request's bytes are not seen") }
      }
      run.finally {
        let landed = step.state.load().has(IOState.landed)
        run.check(landed == (way.buffer == nil || IOScheduler.shared.buffers.take() != buffer), "the buffer is lost")
      }
    },
    protocolScenario("the second of the two that R3 names ends the turn", of: "IORequest", unusual: 0) { run in
      let pipe = makePipe(), file = pipeFile(pipe.reading)
      let way = request(of: operation(of: file), file)
      let halves = [Plain(), Plain()]
      var ended = 0
      for half in halves {
        run.thread {
          half.value = 1
          if way.endsTurn() {
            ended += 1
            run.check(halves[0].value + halves[1].value == 2, "the first half is not seen")
          }
        }
      }
      run.finally { run.check(ended == 1, "the turn has ended \(ended) times") }
    },
    protocolScenario("the scheduler is made once", of: "IOScheduler", unusual: 0) { run in
      _ = Engine.shared
      var schedulers: [IOScheduler] = []
      for _ in 0..<2 { run.thread { schedulers.append(IOScheduler.shared) } }
      run.finally { run.check(schedulers[0] === schedulers[1], "there are two schedulers") }
    },
    protocolScenario("a completion is read before the kernel writes there again", of: "IORing", unusual: 0) { run in
      ck_machine_offer_rings(false)
      var error: Errno?
      guard let made = IORing(entries: 1, or: &error) else { return run.check(false, "there is no ring") }
      let ring = Box(made), pipe = makePipe()
      var span = IOSpan(start: UnsafeMutableRawPointer(bitPattern: 16), count: 0)
      for token in UInt64(1)...3 {
        run.check(
          ring.value.submit(writes: false, pipe.reading, &span, 1, at: 0, token: token),
          "the ring does not take the request")
        // There is room for two completions.
        if token == 1 { run.check(ck_machine_complete(), "the first request is not completed") }
      }
      var tokens: [UInt64] = []
      run.thread { for _ in 0..<2 { _ = ck_machine_complete() } }
      run.thread { for _ in 0..<2 { if let completion = ring.value.take() { tokens.append(completion.token) } } }
      run.finally {
        _ = ck_machine_complete()
        while let completion = ring.value.take() { tokens.append(completion.token) }
        run.check(tokens == [1, 2, 3], "the completions were \(tokens)")
      }
    },
  ]
}
