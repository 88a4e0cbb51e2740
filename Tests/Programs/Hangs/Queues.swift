// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral

/// Threads that wait for each other's queues.
let queuePatterns: [Pattern] = [
  .cycle("crosswise-sync", says: "accounts", "ledger") {
    let (accounts, ledger) = (DispatchQueue(label: "accounts"), DispatchQueue(label: "ledger"))
    let formation = Formation(2)
    accounts.async {
      formation.meet()
      formation.wait { ledger.sync {} }
    }
    ledger.async {
      formation.meet()
      formation.wait { accounts.sync {} }
    }
  },
  .cycle("three-in-a-ring", says: "ring.0", "ring.1", "ring.2") {
    let queues = (0..<3).map { DispatchQueue(label: "ring.\($0)") }
    let formation = Formation(3)
    for index in 0..<3 {
      _ = PlainThread {
        queues[index].sync {
          formation.meet()
          formation.wait { queues[(index + 1) % 3].sync {} }
        }
      }
    }
  },
  .cycle("nested-reader", says: "cache") {
    let cache = DispatchQueue(label: "cache", attributes: .concurrent)
    let formation = Formation()
    cache.async {
      cache.async(flags: .barrier) {}
      formation.wait { cache.sync {} }
    }
  },
  .cycle("barriers-crosswise", says: "cache.north", "cache.south") {
    let north = DispatchQueue(label: "cache.north", attributes: .concurrent)
    let south = DispatchQueue(label: "cache.south", attributes: .concurrent)
    let formation = Formation(2)
    north.async {
      formation.meet()
      formation.wait { south.sync(flags: .barrier) {} }
    }
    south.async {
      formation.meet()
      formation.wait { north.sync(flags: .barrier) {} }
    }
  },
  .cycle("targets-crosswise", says: "store", "index", "index.words") {
    let store = DispatchQueue(label: "store")
    let index = DispatchQueue(label: "index")
    let words = DispatchQueue(label: "index.words", target: index)
    let formation = Formation(2)
    store.async {
      formation.meet()
      formation.wait { words.sync {} }
    }
    index.async {
      formation.meet()
      words.async {}
      formation.wait { store.sync {} }
    }
  },
  .cycle("full-readers", says: "downloads") {
    let downloads = DispatchQueue(label: "downloads", maximumConcurrency: 2)
    let formation = Formation(2)
    for _ in 0..<2 {
      downloads.async {
        formation.meet()
        formation.wait { downloads.sync {} }
      }
    }
  },
  .cycle("group-on-a-full-queue", says: "downloads") {
    let downloads = DispatchQueue(label: "downloads", maximumConcurrency: 2)
    let (formation, group) = (Formation(2), DispatchGroup())
    for _ in 0..<2 {
      downloads.async {
        formation.meet()
        downloads.async(group: group) {}
        formation.wait { group.wait() }
      }
    }
  },
  .cycle("item-on-a-full-queue-of-one", says: "downloads") {
    let downloads = DispatchQueue(label: "downloads", maximumConcurrency: 1)
    let (formation, item) = (Formation(1), DispatchWorkItem {})
    downloads.async {
      downloads.async(execute: item)
      formation.wait { item.wait() }
    }
  },
  .cycle("async-and-wait-crosswise", says: "reader", "writer") {
    let (reader, writer) = (DispatchQueue(label: "reader"), DispatchQueue(label: "writer"))
    let formation = Formation(2)
    reader.async {
      formation.meet()
      formation.wait { writer.asyncAndWait {} }
    }
    writer.async {
      formation.meet()
      formation.wait { reader.asyncAndWait {} }
    }
  },
  .cycle("sync-in-once", says: "settings") {
    let (settings, once) = (DispatchQueue(label: "settings"), DispatchOnce())
    let formation = Formation(2)
    settings.async {
      formation.meet()
      formation.wait { once.run {} }
    }
    DispatchQueue.global().async {
      once.run {
        formation.meet()
        formation.wait { settings.sync {} }
      }
    }
  },
  .cycle("sync-in-once-of-a-thread", says: "defaults") {
    let (defaults, once) = (DispatchQueue(label: "defaults"), DispatchOnce())
    let formation = Formation(2)
    _ = PlainThread {
      once.run {
        formation.meet()
        formation.wait { defaults.sync {} }
      }
    }
    _ = PlainThread {
      defaults.sync {
        formation.meet()
        formation.wait { once.run {} }
      }
    }
  },
]
