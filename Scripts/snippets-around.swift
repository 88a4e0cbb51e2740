// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the snippets of the documentation take for granted: a program around them. Snippets are compiled and run with it.

@_exported import Glibc
@_exported import GrandCentral

// MARK: Types

struct Words { mutating func merge(_ other: Words) {}; func checked() throws -> Int { 0 } }
struct Image: Sendable {}
struct Change: Sendable {}
struct Page: Sendable {}
struct Order: Sendable { let customer = "" }
struct Progress { func add(_ count: Int) {} }
final class Cache: Sendable { func removeAll() {}; func trim() {}; func store(_ page: Page) {} }
final class Store: Sendable { let queue = DispatchSerialQueue(label: "store"), count = 0 }
final class Catalogue: Sendable { func update() {}; var entries: [String] { [] } }
struct Database: Sendable {}
struct Event { let time = DispatchTime.now() }

// MARK: Values

let files: [String] = [], urls: [String] = [], file = "", account = "", change = Change(), page = Page(),
  image = Image()
let pages: [Page] = []
let order = Order(), document = Page(), cache = Cache(), store = Store(), catalogue = Catalogue(),
  progress = Progress()
let rows = 0, results: [String] = [], event = Event()
let socket: Int32 = 0, messageQueue: Int32 = 0, child: pid_t = 0, process: pid_t = 0
let queue = DispatchQueue(label: "queue"), ledger = DispatchQueue(label: "ledger"), group = DispatchGroup()
let permits = DispatchSemaphore(value: 1), semaphore = DispatchSemaphore(value: 0), search = DispatchWorkItem {}
let pool = DispatchQueuePool(name: "pool", queueCount: 1, qos: .default)
let timer = DispatchSource.makeTimerSource(queue: queue)
var data: DispatchData { .empty }
var picture: DispatchData { .empty }
var body: DispatchData { .empty }
var trailer: DispatchData { .empty }
nonisolated(unsafe) let header: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0)
nonisolated(unsafe) let mapped = UnsafeRawBufferPointer(
  start: mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), count: 4096)
var start: DispatchTime { DispatchTime(uptimeNanoseconds: 1) }
var end: DispatchTime { .now() }
var previous: DispatchTime { .now() }
var planned: DispatchWallTime { .now() }
var appointment: DispatchWallTime { .now() }

// MARK: Functions

func count(_ file: String) -> Words { Words() }
func index(_ file: String) {}
func load(_ file: String) {}
func load() async {}
func apply(_ change: Change) {}
func compress(_ file: String) {}
func compress(_ file: String) async {}
func size(of file: String) throws -> Int { 0 }
func computeTotal() throws -> Int { 0 }
func render() {}
func render(_ page: Page) {}
func fetch(_ page: Page, _ completion: @escaping @Sendable (Page) -> Void) { completion(page) }
func fetch(_ url: String) -> Page { page }
func keep(_ page: Page) {}
func save(_ page: Page) {}
func decode(_ image: Image) {}
func book(_ order: Order) {}
func shade(_ row: Int) {}
func log(_ line: String) {}
struct Recording { let startNanoseconds: UInt64 = 0 }
let record = Recording()
func show() {}
func show(_ results: [String]) {}
func show(position: UInt) {}
func showProgress() {}
func publish(_ results: [String]) {}
func redraw(parts: UInt) {}
func draw() {}
func prefetch() {}
func reload() {}
func readSettings() {}
func refresh() {}
func retry() {}
func tick() {}
func work() {}
func stopServing(_ descriptor: Int32) {}
func receiveAll(_ messages: Int32) {}
// Not in Swift's Glibc.
func mq_open(_ name: String, _ flags: Int32) -> Int32 { dup(socket) }
func mq_close(_ queue: Int32) { close(queue) }
func blink() {}
func shutDown() {}
func emptyCaches() {}
func openDatabase() -> Database { Database() }
func forget(_ descriptor: Int32) {}
func report(_ process: pid_t) {}
func readSome(_ descriptor: Int32) -> Bool { true }
func readSome(_ descriptor: Int32, _ count: UInt) {}
func readAvailable(_ descriptor: Int32) {}
func receive(upTo count: UInt) {}
func send(upTo count: UInt) {}
func send(_ bytes: UnsafeRawBufferPointer) {}
func write(_ bytes: UnsafeBufferPointer<UInt8>) {}
func parse(_ data: DispatchData) {}
func handle(_ line: DispatchData) {}
func check(_ byte: UInt8) {}
