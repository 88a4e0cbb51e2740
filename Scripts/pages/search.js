// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
// The search of the site. What it looks into is a script, loaded when the search is first used: it works from a folder, too.

"use strict";

const root = document.documentElement.dataset.root;
const query = document.getElementById("query");
const results = document.getElementById("results");
const MOST = 20;

let entries = null;
let isAskedFor = false;

// Called by search-index.js.
function found(list) {
  entries = list.map(([title, kind, path, text, weight]) => ({
    title, kind, path, text, weight, name: title.toLowerCase(), words: text.toLowerCase(),
  }));
  show();
}

function load() {
  if (isAskedFor) return;
  isAskedFor = true;
  const script = document.createElement("script");
  script.src = `${root}/search-index.js`;
  document.head.append(script);
}

// How well an entry fits: each word of the query is somewhere in it, or it does not fit. Titles tell more than text, a whole
// name more than a part.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const place = entry.name.indexOf(word);
    if (place >= 0) {
      const before = place === 0 || !/[a-z0-9]/.test(entry.name[place - 1]);
      const after = !/[a-z0-9]/.test(entry.name[place + word.length] ?? " ");
      sum += 10 + (before ? 10 : 0) + (before && after ? 10 : 0);
    } else if (entry.words.includes(word)) {
      sum += 2;
    } else {
      return 0;
    }
  }
  // Of two that fit as well, the shorter title.
  return sum * entry.weight - entry.name.length / 100;
}

function excerpt(entry, words) {
  const place = Math.max(0, ...words.map((word) => entry.words.indexOf(word)));
  const begin = place > 60 ? entry.text.lastIndexOf(" ", place - 40) + 1 : 0;
  return (begin > 0 ? "… " : "") + entry.text.slice(begin, begin + 140);
}

function part(kind, text) {
  const element = document.createElement("span");
  element.className = kind;
  element.textContent = text;
  return element;
}

function show() {
  const words = query.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  results.hidden = words.length === 0;
  if (words.length === 0 || entries === null) return;
  const fitting = entries
    .map((entry) => ({ entry, value: score(entry, words) }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, MOST);
  results.replaceChildren(...fitting.map(({ entry }) => {
    const link = document.createElement("a");
    link.href = `${root}/${entry.path}`;
    link.append(part("title", entry.title), part("kind", entry.kind), part("text", excerpt(entry, words)));
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (fitting.length === 0) results.append(part("none", "Nothing found"));
}

function close() {
  results.hidden = true;
}

// The arrow keys go through the query and the results.
function move(step) {
  const stops = [query, ...results.querySelectorAll("a")];
  const next = stops[stops.indexOf(document.activeElement) + step];
  if (next) next.focus();
}

query.addEventListener("focus", load);
query.addEventListener("input", () => { load(); show(); });
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  results.querySelector("a")?.click();
});
document.getElementById("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { query.focus(); close(); }
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  }
});
results.addEventListener("click", close);
document.addEventListener("click", (event) => { if (!event.target.closest("#search")) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input")) {
    event.preventDefault();
    query.focus();
  }
});
