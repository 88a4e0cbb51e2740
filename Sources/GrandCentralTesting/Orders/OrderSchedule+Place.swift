// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension OrderSchedule {
  /// A point at which each thread that can go on is a process before its next step.
  struct Place {
    let ready: [Name]
    /// Order.R2, with the number of operations of the step that each of them would take.
    var sleep: [Name: Int]
    /// The processes that are to go on here, one after the other.
    var wanted: [Name]
    var chosen: Name
    /// Of the step that the chosen one has taken.
    var operations: [Operation] = []
  }
}
