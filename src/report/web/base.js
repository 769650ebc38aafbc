// What all pages use: elements, numbers as people read them, light and dark, the data of runs.
// SPDX-License-Identifier: MIT
"use strict";
const terrace = {};

// el("td.left", {title: "..."}, "text", another, ...)
terrace.el = function (kind, attributes, ...children) {
  const [name, ...classes] = kind.split(".");
  const made = document.createElement(name || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== "") made.append(child);
  return made;
};

// About four digits: 12,345 and 1.234.
terrace.number = function (x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Number.isInteger(x)) return x.toLocaleString("en-US");
  const size = Math.abs(x);
  return x.toLocaleString("en-US", {maximumFractionDigits: size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3});
};
terrace.percent = (x) => Number.isFinite(x) ? `${(100 * x).toFixed(1)} %` : "–";
// 1.2 M, 3.4 G
terrace.short = function (x) {
  if (!Number.isFinite(x)) return "–";
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(x) >= size) return `${(x / size).toPrecision(3)} ${unit}`;
  return terrace.number(x);
};
terrace.seconds = (s) => s < 90 ? `${terrace.number(Math.round(s * 10) / 10)} s` : s < 5400 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`;
terrace.unique = (list) => [...new Set(list)];
terrace.sum = (list) => list.reduce((a, b) => a + b, 0);
terrace.mean = (list) => terrace.sum(list) / list.length;
terrace.ratio = (a, b) => b > 0 ? a / b : NaN;

// "1 run", "3 runs"
terrace.count = (n, word) => `${terrace.number(n)} ${word}${n === 1 ? "" : "s"}`;
// "a, b and c"; of many only the first.
terrace.words = function (list, most = 6) {
  if (list.length > most) return `${list.slice(0, most - 1).join(", ")} and ${list.length - most + 1} more`;
  return list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list[list.length - 1]}`;
};

terrace.run_link = (id, text) => terrace.el("a", {href: `run.html#${id}`}, text);
terrace.run_words = (run) => [run.design, run.machine, run.size, run.settings, run.sms && run.sms !== "even" ? `${run.sms} SMs` : "", `seed ${run.seed}`]
  .filter((word) => word).join(" · ");

// Light, dark, or what the system says. Charts have colours of their own and are drawn again.
terrace.theme = {
  redraw: [],
  read() {
    try { return localStorage.getItem("terrace-theme"); } catch (error) { return null; }
  },
  apply() {
    const asked = new URLSearchParams(location.search).get("theme") || this.read();
    const dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  },
  toggle() {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("terrace-theme", next); } catch (error) { /* a page from a disk may have no storage */ }
    document.documentElement.dataset.theme = next;
    for (const draw of this.redraw) draw();
  },
  colour: (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
};

// Data of runs is in scripts beside the pages.
terrace.runs = null;
terrace.run_data = {};
terrace.take_runs = (runs) => { terrace.runs = runs; };
terrace.take_run = (run) => { terrace.run_data[run.id] = run; };
terrace.read_script = (path) => new Promise((resolve, reject) => {
  const script = terrace.el("script", {src: path});
  script.onload = resolve;
  script.onerror = () => reject(new Error(`${path} cannot be read; keep the folder of the report together`));
  document.head.append(script);
});
terrace.need_runs = async () => { if (!terrace.runs) await terrace.read_script("data/runs.js"); return terrace.runs; };
terrace.need_run = async function (id) {
  if (!/^[0-9a-f]+$/.test(id)) throw new Error(`"${id}" is not the identity of a run`);
  if (!terrace.run_data[id]) await terrace.read_script(`data/${id}.js`);
  return terrace.run_data[id];
};
