// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// Waits for groups and items that cannot run before.
let groupPatterns: [Pattern] = [
  .cycle("group-of-own-queue", says: "uploads") {
    let (uploads, group, formation) = (DispatchQueue(label: "uploads"), DispatchGroup(), Formation())
    uploads.async {
      uploads.async(group: group) {}
      formation.wait { group.wait() }
    }
  },
  .cycle("group-barrier-of-own-queue", says: "cache") {
    let cache = DispatchQueue(label: "cache", attributes: .concurrent)
    let (group, formation) = (DispatchGroup(), Formation())
    cache.async {
      cache.async(group: group, flags: .barrier) {}
      formation.wait { group.wait() }
    }
  },
  .cycle("group-on-a-child-of-own-queue", says: "parser", "parser.tokens") {
    let parser = DispatchQueue(label: "parser")
    let tokens = DispatchQueue(label: "parser.tokens", target: parser)
    let (group, formation) = (DispatchGroup(), Formation())
    parser.async {
      tokens.async(group: group) {}
      formation.wait { group.wait() }
    }
  },
  .cycle("group-on-a-child-of-a-pool", says: "sessions", "sessions.log") {
    // The pool's queue counts its jobs, the child's turn among them.
    let sessions = DispatchQueuePool(name: "sessions", queueCount: 1).queue
    let log = DispatchQueue(label: "sessions.log", target: sessions)
    let (group, formation) = (DispatchGroup(), Formation())
    sessions.async {
      log.async(group: group) {}
      formation.wait { group.wait() }
    }
  },
  .cycle("group-that-syncs-back", says: "model") {
    let (model, group, formation) = (DispatchQueue(label: "model"), DispatchGroup(), Formation(2))
    model.async {
      DispatchQueue.global().async(group: group) {
        formation.wait { model.sync {} }
      }
      formation.wait { group.wait() }
    }
  },
  .cycle("group-with-a-free-member", says: "batch") {
    // One member never leaves by itself, another one cannot: the second is enough.
    let (batch, group, formation) = (DispatchQueue(label: "batch"), DispatchGroup(), Formation())
    group.enter()
    batch.async {
      batch.async(group: group) {}
      formation.wait { group.wait() }
    }
  },
  .cycle("group-of-the-item-itself", says: "group") {
    let (exports, group, formation) = (DispatchQueue(label: "export"), DispatchGroup(), Formation())
    exports.async(group: group) { formation.wait { group.wait() } }
  },
  .cycle("groups-of-each-other", says: "group") {
    // A member of each group waits for the other group.
    let groups = (DispatchGroup(), DispatchGroup())
    let formation = Formation(2)
    DispatchQueue(label: "left").async(group: groups.0) {
      formation.meet()
      formation.wait { groups.1.wait() }
    }
    DispatchQueue(label: "right").async(group: groups.1) {
      formation.meet()
      formation.wait { groups.0.wait() }
    }
  },
  .cycle("item-on-own-queue", says: "layout") {
    let (layout, item, formation) = (DispatchQueue(label: "layout"), DispatchWorkItem {}, Formation())
    layout.async {
      layout.async(execute: item)
      formation.wait { item.wait() }
    }
  },
  .cycle("item-that-syncs-back", says: "layout") {
    let (layout, formation) = (DispatchQueue(label: "layout"), Formation(2))
    let item = DispatchWorkItem { formation.wait { layout.sync {} } }
    layout.async {
      DispatchQueue.global().async(execute: item)
      formation.wait { item.wait() }
    }
  },
  .cycle("item-that-waits-for-itself-elsewhere", says: "measure") {
    let (draw, measure, formation) = (DispatchQueue(label: "draw"), DispatchQueue(label: "measure"), Formation(2))
    let item = DispatchWorkItem {
      formation.meet()
      formation.wait { measure.sync {} }
    }
    draw.async(execute: item)
    measure.async {
      formation.meet()
      formation.wait { item.wait() }
    }
  },
]

/// Calls of `concurrentPerform` one of whose helpers cannot go on. The library does not tell of these.
let performPatterns: [Pattern] = [
  .other("perform-that-syncs-back", says: "2 threads wait for each other", "filter", "iterations") {
    let (filter, formation) = (DispatchQueue(label: "filter"), Formation(2))
    filter.async {
      performWithHelper(formation) { formation.wait { filter.sync {} } }
    }
  },
  .other("perform-behind-another-queue", says: "3 threads wait for each other", "tiles", "disk", "iterations") {
    let (tiles, disk, formation) = (DispatchQueue(label: "tiles"), DispatchQueue(label: "disk"), Formation(3))
    disk.async {
      formation.meet()
      formation.wait { tiles.sync {} }
    }
    tiles.async {
      performWithHelper(formation) { formation.wait { disk.sync {} } }
    }
  },
]

/// Two iterations, one of them by the calling thread, which then waits for the other one.
private func performWithHelper(_ formation: Formation, _ other: @Sendable () -> Void) {
  let caller = pthread_self()
  DispatchQueue.concurrentPerform(iterations: 2) { _ in
    formation.meet()
    if pthread_self() == caller { formation.wait {} } else { other() }
  }
}
