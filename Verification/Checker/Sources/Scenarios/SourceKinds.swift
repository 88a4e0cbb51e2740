// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// What a reporter has merged may be taken by a delivery that began because of an earlier event: then the state word, by which
// the report makes itself known afterwards, has ordered nothing. The merged word alone must publish what led to the event.

/// The deliverer takes an event beside its reporter.
private func takes(_ source: DispatchSource, _ data: Plain, _ run: ScenarioRun) {
  if source.takeEvent() != nil { run.check(data.value == 1, "the event's cause is not seen") }
}

func sourceKinds() -> [Scenario] {
  func userData(_ name: String, _ merge: @escaping (UserDataSource) -> Void) -> Scenario {
    protocolScenario(name + " publishes to a delivery that is under way", of: "UserDataSource", unusual: 0) { run in
      let source = UserDataSource(handle: 0, mask: 0, queue: sleepingQueue()), data = Plain()
      run.thread {
        data.value = 1
        merge(source)
      }
      run.thread { takes(source, data, run) }
    }
  }
  return [
    userData("add") { $0.add(data: 1) },
    userData("or") { $0.or(data: 1) },
    userData("replace") { $0.replace(data: 1) },
    protocolScenario("a signal publishes to a delivery that is under way", of: "SignalSource", unusual: 0) { run in
      standInForPool()
      let source = SignalSource(signal: 10, queue: sleepingQueue()), data = Plain()
      run.check(source.register() == nil, "the signal is not watched")
      run.thread {
        data.value = 1
        ck_machine_raise(10)
        poll()
      }
      run.thread { takes(source, data, run) }
    },
    protocolScenario("a change of a file publishes to a delivery that is under way", of: "FileSystemSource", unusual: 0)
    {
      run in
      standInForPool()
      _ = ck_machine_make_file("/file", "x")
      let file = FileReading.open("/file", 0, 0), data = Plain()
      let source = FileSystemSource(descriptor: file, mask: .write, queue: sleepingQueue())
      run.check(source.register() == nil, "the file is not watched")
      run.thread {
        data.value = 1
        _ = ck_machine_append("/file", "x")
        poll()
      }
      run.thread { takes(source, data, run) }
    },
    protocolScenario("the list of watched files is made once", of: "FileWatches", unusual: 0, isSmall: false) { run in
      standInForPool()
      var lists: [FileWatches] = []
      for _ in 0..<2 {
        run.thread {
          guard case .success(let list) = FileWatches.shared() else { return run.check(false, "there is no list") }
          run.check(list.isOurs, "the list is another engine's")
          lists.append(list)
        }
      }
      run.finally { run.check(lists[0] === lists[1], "there are two lists") }
    },
    protocolScenario(
      "a process's end is known to the handler that reaps it", of: "ProcessSource", unusual: 0
    ) { run in
      standInForPool()
      let process = ck_machine_start_process(true)
      let source = ProcessSource(identifier: process, mask: .exit, queue: sleepingQueue())
      run.check(source.register() == nil, "the process is not watched")
      run.thread {
        ck_machine_end_process(process, false, 3)
        poll()
      }
      run.thread {
        if source.takeEvent() == nil { return }
        // The kernel does not know it any more.
        ck_machine_reap_process(process)
        run.check(source.exitStatus != nil, "the process's status is lost")
      }
    },
    protocolScenario(
      "the caller of the status uses the descriptor that the registration has opened", of: "ProcessSource", unusual: 0
    ) { run in
      standInForPool()
      let process = ck_machine_start_process(true)
      let source = ProcessSource(identifier: process, mask: .exit, queue: sleepingQueue())
      run.thread { run.check(source.register() == nil, "the process is not watched") }
      run.thread { run.check(source.exitStatus == nil, "the process has not ended") }
    },
  ]
}
