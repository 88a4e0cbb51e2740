// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The page: whole in itself, so that it needs no network but the server that it comes from.
///
/// What a process shows is put in as text, never as HTML. What follows # in the address is the table that is shown.
enum WebPage {
  static let text = #"""
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>gcd top</title>
    <style>
    :root { color-scheme: light dark; --line: light-dark(#ddd, #333); --mark: light-dark(#0550ae, #79c0ff); }
    body { margin: 1rem auto; padding: 0 1rem; max-width: 90rem; font: 14px/1.5 ui-monospace, monospace; }
    pre { margin: 0; font: inherit; white-space: pre-wrap; }
    #findings { margin: .75rem 0; }
    nav { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0; }
    button, input { font: inherit; padding: .2rem .6rem; border: 1px solid var(--line); border-radius: 4px;
      background: transparent; color: inherit; }
    button[aria-pressed=true] { border-color: var(--mark); color: var(--mark); }
    #scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    th, td { padding: .15rem .6rem; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
    th { cursor: pointer; position: sticky; top: 0; }
    th.sorted { color: var(--mark); }
    .right { text-align: right; }
    .bold { font-weight: bold; }
    .dim { opacity: .6; }
    .alarm { color: light-dark(#b3001b, #ff7b72); font-weight: bold; }
    .warning { color: light-dark(#8a5300, #e3b341); }
    .good { color: light-dark(#116329, #56d364); }
    .accent { color: var(--mark); }
    </style>
    </head>
    <body>
    <pre id="head">Waiting for the process …</pre>
    <pre id="findings"></pre>
    <nav><span id="tabs"></span><input id="filter" placeholder="filter" aria-label="filter">
    <button id="pause" aria-pressed="false">pause</button><span id="state" class="dim"></span></nav>
    <div id="scroll"><table><thead id="columns"></thead><tbody id="rows"></tbody></table></div>
    <p id="more" class="dim"></p>
    <script>
    "use strict";
    const at = id => document.getElementById(id);
    let last = null, paused = false, updates = 0;
    const sorted = {Queues: 1};
    const element = (name, text, kind) => {
      const made = document.createElement(name);
      made.textContent = text;
      if (kind) made.className = kind;
      return made;
    };
    const lines = (target, all) => target.replaceChildren(...all.flatMap((line, index) =>
      [...(index ? ["\n"] : []), ...line.map(([text, kind]) => element("span", text, kind))]));
    const order = column => (one, other) => {
      const [a, b] = [one[column], other[column]];
      if (a.length > 2 || b.length > 2) return (b[2] ?? -Infinity) - (a[2] ?? -Infinity);
      return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
    };
    function show() {
      if (!last) return;
      document.title = "gcd top " + last.title;
      lines(at("head"), last.head);
      lines(at("findings"), last.findings.length ? last.findings : [[["no findings", "good"]]]);
      const wanted = location.hash.slice(1);
      const page = last.pages.find(page => page.title === wanted) ?? last.pages[0];
      at("tabs").replaceChildren(...last.pages.map(one => {
        const tab = element("button", one.title);
        tab.setAttribute("aria-pressed", one === page);
        tab.onclick = () => { location.hash = one.title; };
        return tab;
      }));
      at("columns").replaceChildren(element("tr", ""));
      at("columns").firstChild.replaceChildren(...page.columns.map((column, index) => {
        const head = element("th", column.title, column.right ? "right" : "");
        if (sorted[page.title] === index) head.classList.add("sorted");
        head.title = column.help;
        head.onclick = () => { sorted[page.title] = index; show(); };
        return head;
      }));
      const filter = at("filter").value.toLowerCase();
      let rows = page.rows.filter(row => row.some(cell => cell[0].toLowerCase().includes(filter)));
      if (page.title in sorted) rows = rows.toSorted(order(sorted[page.title]));
      at("rows").replaceChildren(...rows.map(row => {
        const line = document.createElement("tr");
        line.replaceChildren(...row.map(([text, kind], index) =>
          element("td", text, kind + (page.columns[index].right ? " right" : ""))));
        return line;
      }));
      at("more").textContent = page.more ? `${page.more} more are not sent; gcd top --once --json has all` : "";
    }
    const events = new EventSource("events");
    events.onmessage = event => {
      const data = JSON.parse(event.data);
      document.body.dataset.updates = ++updates;
      if (data.end) {
        events.close();
        at("state").textContent = data.end;
        return;
      }
      at("state").textContent = "";
      if (!paused) { last = data; show(); }
    };
    events.onerror = () => { at("state").textContent = "gcd top has ended, or cannot be reached"; };
    window.onhashchange = show;
    at("filter").oninput = show;
    at("pause").onclick = () => {
      paused = !paused;
      at("pause").setAttribute("aria-pressed", paused);
    };
    </script>
    </body>
    </html>

    """#
}
