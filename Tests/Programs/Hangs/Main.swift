// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral

/// Waits in which the main thread has a part.
let mainPatterns: [Pattern] = [
  .cycle("main-by-way-of-another", says: "database", "main") {
    let (database, formation) = (DispatchQueue(label: "database"), Formation(2))
    database.async {
      formation.meet()
      formation.wait { DispatchQueue.main.sync {} }
    }
    formation.meet()
    formation.wait { database.sync {} }
  },
  .cycle("main-in-its-own-item", says: "database", "main") {
    let (database, formation) = (DispatchQueue(label: "database"), Formation(2))
    database.async {
      formation.wait {
        DispatchQueue.main.sync {
          formation.wait { database.sync {} }
        }
      }
    }
    dispatchMain()
  },
  .cycle("main-waits-for-a-group", says: "main") {
    let (group, formation) = (DispatchGroup(), Formation(2))
    DispatchQueue.global().async(group: group) {
      formation.wait { DispatchQueue.main.sync {} }
    }
    formation.wait { group.wait() }
  },
  .cycle("main-waits-for-its-own-item", says: "main") {
    let (item, formation) = (DispatchWorkItem {}, Formation())
    DispatchQueue.main.async(execute: item)
    formation.wait { item.wait() }
  },
  .cycle("main-behind-a-child-queue", says: "screen", "disk") {
    let (screen, disk) = (DispatchQueue(label: "screen", target: .main), DispatchQueue(label: "disk"))
    let formation = Formation(2)
    disk.async {
      formation.meet()
      formation.wait { screen.sync {} }
    }
    formation.meet()
    formation.wait { disk.sync {} }
  },
  .other("dispatch-main-never-called", says: "main") {
    // The main thread sleeps elsewhere, so no thread drains its queue.
    let formation = Formation()
    DispatchQueue.global().async {
      formation.wait { DispatchQueue.main.sync {} }
    }
  },
]
