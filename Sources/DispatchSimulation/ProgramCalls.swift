// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What stands in for the C library asks for this, on simulated threads.

import CSimulation

@c @implementation
public func gcs_begin() { ProgramRun.begin() }

@c @implementation
public func gcs_end(_ code: Int32) { ProgramRun.end(code) }

@c @implementation
public func gcs_end_aside(_ code: Int32) { ProgramRun.endAside(code) }

// MARK: Time

@c @implementation
public func gcs_now() -> UInt64 { ProgramRun.run.present.now }

@c @implementation
public func gcs_wall_distance() -> UInt64 { World.distance(of: .wall) }

@c @implementation
public func gcs_sleep(_ nanoseconds: UInt64) {
  let run = ProgramRun.run.present
  run.record(Events.Kind.sleeps, 0)
  run.sleep(nanoseconds)
}

@c @implementation
public func gcs_outlive_workers() { ProgramRun.run.present.outliveWorkers() }

// MARK: Waits

@c @implementation
public func gcs_point() { ProgramRun.run.present.note(Events.Kind.locks, 0) }

@c @implementation
public func gcs_yield() { ProgramRun.run.present.note(Events.Kind.yield, 0) }

@c @implementation
public func gcs_wait(_ address: UnsafeRawPointer?, _ kind: gcs_kind, _ owner: UInt32, _ deadline: UInt64) -> Bool {
  let run = ProgramRun.run.present
  let words =
    switch kind {
    case GCS_LOCK: "a lock"
    case GCS_CONDITION: "a condition"
    case GCS_SEMAPHORE: "a semaphore of the system"
    case GCS_BARRIER: "others at a barrier"
    case GCS_ONCE: "the function of a pthread_once"
    case GCS_FUTEX: "a futex"
    default: "a thread to end"
    }
  // What it has done before may be what others wait for, also where that was not seen.
  run.countStep()
  // unsafe: the program's object, whose address alone counts.
  return run.wait(
    for: address.unsafelyUnwrapped, "waits for " + words, heldBy: run.number(ofKernels: owner), until: deadline)
}

@c @implementation
public func gcs_wait_described(
  _ address: UnsafeRawPointer?, _ words: UnsafePointer<CChar>?, _ deadline: UInt64
) -> Bool {
  // unsafe: as above; the words are the caller's.
  ProgramRun.run.present.wait(
    for: address.unsafelyUnwrapped, String(cString: words.unsafelyUnwrapped), until: deadline)
}

@c @implementation
public func gcs_wake(_ address: UnsafeRawPointer?, _ count: Int32, _ isPoint: Bool) -> Int32 {
  let run = ProgramRun.run.present
  // unsafe: as above.
  let address = address.unsafelyUnwrapped
  return Int32(isPoint ? run.wakeBoth(address, Int(count)) : run.releaseSleepers(address, Int(count)))
}

@c @implementation
public func gcs_end_polls() -> Bool {
  let run = ProgramRun.run.present
  let areAny = run.polls > 0
  run.wakePolls()
  return areAny
}

@c @implementation
public func gcs_descriptor_point() { ProgramRun.run.present.note(Events.Kind.transfers, 0) }

@c @implementation
public func gcs_count_step() { ProgramRun.run.present.countStep() }

@c @implementation
public func gcs_done() { ProgramRun.run.present.note(SimulationSupport.done, 0) }

// MARK: Threads of the program

/// The thread's part in the run; `gcs_thread_make` has retained it.
private func thread(_ raw: UnsafeMutableRawPointer?) -> Unmanaged<ProgramThread> {
  // unsafe: made by `gcs_thread_make`.
  Unmanaged.fromOpaque(raw.unsafelyUnwrapped)
}

@c @implementation
public func gcs_thread_make() -> UnsafeMutableRawPointer? { Unmanaged.passRetained(ProgramThread()).toOpaque() }

@c @implementation
public func gcs_thread_drop(_ raw: UnsafeMutableRawPointer?) { thread(raw).release() }

@c @implementation
public func gcs_thread_add(_ raw: UnsafeMutableRawPointer?) {
  let thread = thread(raw).takeUnretainedValue()
  ProgramRun.run.present.adopt(thread)
}

@c @implementation
public func gcs_thread_enter(_ raw: UnsafeMutableRawPointer?) {
  let thread = thread(raw).takeUnretainedValue()
  thread.carrier.wait()
  ProgramRun.run.enter(thread)
}

@c @implementation
public func gcs_thread_leave(_ raw: UnsafeMutableRawPointer?) {
  let thread = thread(raw).takeRetainedValue()
  ProgramRun.run.present.end(thread.number)
}

@c @implementation
public func gcs_thread_interrupt(_ raw: UnsafeMutableRawPointer?) {
  let thread = thread(raw).takeUnretainedValue()
  ProgramRun.run.present.interrupt(thread)
}

// MARK: Randomness

@c @implementation
public func gcs_random(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
  for index in 0..<count {
    // unsafe: the caller has that many bytes.
    bytes.unsafelyUnwrapped.storeBytes(of: ProgramRun.nextRandomByte(), toByteOffset: index, as: UInt8.self)
  }
}
