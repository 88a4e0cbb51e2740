// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the user has chosen: a value, changed by keys.
struct TopState: Sendable, Equatable {
  var page = TopPage.overview
  /// The column that each page is sorted by; nil for the order of the look.
  var sort: [TopPage: Int] = [.overview: 1, .queues: 1]
  /// The row that is selected, by its id, so that it stays with its subject.
  var selected: String?
  /// What rows must hold to be shown.
  var filter = ""
  /// The filter is being typed.
  var isTyping = false
  var isPaused = false
  var showsHelp = false
  /// The selected row's subject is shown alone.
  var showsDetail = false
  var scroll = 0
  /// A line for the user, until the next key.
  var message = ""
  /// Where the screen shows what can be clicked on.
  var layout = TopLayout()

  /// What a key asks the run to do, beyond changing the state.
  enum Action: Equatable, Sendable { case none, quit, copyJSON, writeTrace, back }

  /// `ids` are the rows that are shown, in their order.
  mutating func press(_ key: TopKey, ids: [String], pageRows: Int) -> Action {
    message = ""
    if key == .control("c") { return .quit }
    if isTyping {
      type(key)
      return .none
    }
    if showsHelp {
      showsHelp = false
      return key == .character("q") ? .quit : .none
    }
    switch key {
    case .character("q"): return .quit
    case .character("?"), .character("h"): showsHelp = true
    case .character(" "): isPaused.toggle()
    case .character("/"):
      isTyping = true
      filter = ""
    case .character("s"): nextSort()
    case .character("y"): return .copyJSON
    case .character("t"): return .writeTrace
    case .click(let column, let row): click(column, row, ids: ids)
    case .wheelUp: for _ in 0..<Self.wheelRows { move(.up, ids: ids, pageRows: 1) }
    case .wheelDown: for _ in 0..<Self.wheelRows { move(.down, ids: ids, pageRows: 1) }
    case .escape, .backspace: return back()
    case .enter:
      showsDetail = selected != nil || !ids.isEmpty
      if selected == nil { selected = ids.first }
    case .tab, .right: turn(to: page.rawValue + 1)
    case .backTab, .left: turn(to: page.rawValue - 1)
    case .character(let digit) where ("1"..."5").contains(digit): turn(to: Int(digit.value) - 49)
    case .character("l") where ids.isEmpty: break
    default: move(key, ids: ids, pageRows: max(1, pageRows))
    }
    return .none
  }

  private mutating func back() -> Action {
    if showsDetail { showsDetail = false } else if !filter.isEmpty { filter = "" } else { return .back }
    return .none
  }

  private mutating func turn(to number: Int) {
    let count = TopPage.allCases.count
    page = TopPage(rawValue: (number + count) % count) ?? .overview
    selected = nil
    showsDetail = false
    scroll = 0
  }

  /// A turn of the wheel.
  private static let wheelRows = 3

  /// A tab, the head of a column, or a row: the second click on it shows it alone.
  private mutating func click(_ column: Int, _ row: Int, ids: [String]) {
    if row == layout.tabsRow {
      if let tab = layout.tabs.firstIndex(where: { $0.contains(column) }) { turn(to: tab) }
    } else if showsDetail {
      showsDetail = false
    } else if row == layout.headRow {
      if let head = layout.heads.first(where: { $0.columns.contains(column) }) { sort[page] = head.column }
    } else if layout.headRow >= 0, row > layout.headRow, row - layout.headRow <= layout.shownRows {
      let index = scroll + row - layout.headRow - 1
      guard ids.indices.contains(index) else { return }
      if selected == ids[index] { showsDetail = true }
      selected = ids[index]
    }
  }

  private mutating func nextSort() {
    let count = TopPages.columns(page).count
    sort[page] = ((sort[page] ?? -1) + 1) % count
  }

  private mutating func type(_ key: TopKey) {
    switch key {
    case .character(let scalar): filter.unicodeScalars.append(scalar)
    case .backspace: if !filter.isEmpty { filter.unicodeScalars.removeLast() }
    case .enter: isTyping = false
    case .escape:
      isTyping = false
      filter = ""
    default: break
    }
  }

  private mutating func move(_ key: TopKey, ids: [String], pageRows: Int) {
    let current = selected.flatMap { ids.firstIndex(of: $0) }
    let wanted: Int
    switch key {
    case .up, .character("k"): wanted = (current ?? 0) - 1
    case .down, .character("j"): wanted = current.map { $0 + 1 } ?? 0
    case .pageUp: wanted = (current ?? 0) - pageRows
    case .pageDown: wanted = (current ?? 0) + pageRows
    case .home, .character("g"): wanted = 0
    case .end, .character("G"): wanted = ids.count - 1
    default: return
    }
    guard !ids.isEmpty else { return }
    selected = ids[min(max(wanted, 0), ids.count - 1)]
  }

  /// Scrolls so that the selected row is among those shown.
  mutating func keepSelectionVisible(ids: [String], pageRows: Int) {
    let last = max(0, ids.count - pageRows)
    if let index = selected.flatMap({ ids.firstIndex(of: $0) }) {
      if index < scroll { scroll = index }
      if index >= scroll + pageRows { scroll = index - pageRows + 1 }
    }
    scroll = min(max(0, scroll), last)
  }
}

/// Rows and columns of the screen, from 0 on.
struct TopLayout: Sendable, Equatable {
  var tabsRow = -1
  var tabs: [Range<Int>] = []
  /// The head of the table; -1 while there is none.
  var headRow = -1
  var heads: [(column: Int, columns: Range<Int>)] = []
  /// Rows of the table that are shown.
  var shownRows = 0

  static func == (one: TopLayout, other: TopLayout) -> Bool {
    one.tabsRow == other.tabsRow && one.tabs == other.tabs && one.headRow == other.headRow
      && one.shownRows == other.shownRows && one.heads.elementsEqual(other.heads, by: ==)
  }
}
