// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
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
]
