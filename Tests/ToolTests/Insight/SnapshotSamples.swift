// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@testable import gcd

let second: UInt64 = 1_000_000_000

/// A snapshot that no process has shown.
func sample(_ threads: [Snapshot.Thread], _ objects: [Snapshot.Object] = []) -> Snapshot {
  var snapshot = Snapshot(pid: 100)
  snapshot.parallelism = 8
  snapshot.threadBudget = 512
  snapshot.program = KernelProcess(name: "program", state: "S")
  snapshot.threads = threads
  snapshot.objects = objects
  return snapshot
}

/// A thread that waits in one of the library's calls.
func waiting(
  _ tid: Int32, _ kind: Snapshot.WaitKind, _ address: UInt64, _ label: String = "", owner: Int32 = 0,
  inside: (String, UInt64) = ("", 0), role: Snapshot.Role = .worker, seconds: UInt64 = 10
) -> Snapshot.Thread {
  var thread = Snapshot.Thread(tid: tid, name: "gc-\(tid)", role: role, state: .waiting, age: seconds * second)
  thread.wait = Snapshot.Wait(kind: kind, address: address, label: label, owner: owner)
  thread.insideLabel = inside.0
  thread.insideAddress = inside.1
  thread.kernel = KernelThread(state: "S", channel: "futex_wait_queue", call: SystemCall(number: 202))
  return thread
}

/// A thread that waits in none of them.
func active(_ tid: Int32, _ kernel: KernelThread = KernelThread(state: "R"), role: Snapshot.Role = .worker)
  -> Snapshot.Thread
{
  var thread = Snapshot.Thread(tid: tid, name: "gc-\(tid)", role: role, age: 20 * second)
  thread.kernel = kernel
  return thread
}

func queue(_ number: Int, _ label: String, _ address: UInt64, target: Int = 0, suspensions: Int = 0) -> Snapshot.Object
{
  Snapshot.Object(number: number, label: label, address: address, target: target, suspensions: suspensions)
}

extension WhyReport {
  /// Everything that is said.
  var words: String { WhyText(style: Style()).text(self) }
}
