// SPDX-License-Identifier: MIT
#include "live/live_server.h"

namespace terrace {

const char* live_page() {
  return R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Terrace</title>
<style>
:root { color-scheme: light dark; --ink: #1b2430; --paper: #fff; --pale: #8894a4; --line: #d7dde5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --paper: #141a22; --pale: #8d9aab; --line: #303b49; } }
body { font: 15px/1.4 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 1rem auto; max-width: 60rem; padding: 0 1rem; }
button { font: inherit; padding: .3rem .9rem; margin-right: .4rem; }
progress { width: 100%; height: .8rem; }
figure { margin: 1.2rem 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: 10rem; border-bottom: 1px solid var(--line); }
.pale { color: var(--pale); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 0 2rem; }
</style></head><body>
<h1 id="title">Terrace</h1>
<p><button id="pause">Pause</button><button id="step">Step</button><button id="stop">Stop</button> <span id="state" class="pale">connecting</span></p>
<progress id="bar" max="1"></progress><p id="words"></p>
<div id="charts" class="charts"></div>
<script>
"use strict";
const colours = ["#2f7ed8", "#d8602f", "#3a9a5b", "#9657b8", "#b8962f", "#2fa8b8", "#b82f6a", "#6a7480"];
const at = id => document.getElementById(id);
let next = 0, history = [], paused = false, over = false;
const ask = what => fetch("/" + what, {method: "POST", headers: {"X-Terrace": "1"}}).then(look);
at("pause").onclick = () => ask(paused ? "resume" : "pause");
at("step").onclick = () => ask("step");
at("stop").onclick = () => ask("stop");

// Each chart: a title and, for two samples that follow each other, a number for every series.
const run_charts = names => [
  {title: "IPC (thread instructions per cycle)", series: names, value: (a, b, i) => rate(a, b, i, "thread_instructions")},
  {title: "Page walks in service", series: names, value: (a, b, i) => b.tenants[i].walks},
  {title: "Page walks that wait for a walker", series: ["all tenants"], value: (a, b) => b.walks_waiting},
  {title: "L2 hit rate", series: names, value: (a, b, i) => share(a, b, i, "l2_hits", "l2_requests")},
  {title: "Memory lines per 1,000 cycles", series: names, value: (a, b, i) => 1000 * rate(a, b, i, "dram_lines")}];
const sweep_charts = [
  {title: "Jobs running", series: ["running", "in a queue"], value: (a, b, i) => i ? b.waiting : b.running - b.waiting},
  {title: "Jobs done", series: ["done", "failed"], value: (a, b, i) => i ? b.failed : b.done}];
const rate = (a, b, i, key) => b.cycle > a.cycle ? (b.tenants[i][key] - a.tenants[i][key]) / (b.cycle - a.cycle) : NaN;
const share = (a, b, i, part, whole) => {
  const all = b.tenants[i][whole] - a.tenants[i][whole];
  return all > 0 ? (b.tenants[i][part] - a.tenants[i][part]) / all : NaN;
};

function draw(charts) {
  const box = at("charts");
  while (box.children.length < charts.length) {
    const figure = document.createElement("figure");
    figure.innerHTML = '<figcaption></figcaption><svg viewBox="0 0 600 160" preserveAspectRatio="none"></svg><div class="pale"></div>';
    box.append(figure);
  }
  charts.forEach((chart, n) => {
    const figure = box.children[n], rows = chart.series.map((_, i) =>
      history.slice(1).map((b, k) => chart.value(history[k], b, i)));
    const most = Math.max(1e-9, ...rows.flat().filter(Number.isFinite));
    figure.children[0].textContent = chart.title;
    figure.children[1].innerHTML = rows.map((row, i) => {
      const points = row.map((v, k) => Number.isFinite(v) ? `${600 * k / Math.max(1, row.length - 1)},${156 - 150 * v / most}` : "");
      return `<polyline fill="none" stroke="${colours[i % 8]}" stroke-width="2" vector-effect="non-scaling-stroke" points="${points.join(" ")}"/>`;
    }).join("");
    const words = figure.children[2];
    words.replaceChildren(...chart.series.map((name, i) => {
      const span = document.createElement("span"), last = rows[i].filter(Number.isFinite).at(-1);
      span.style.color = colours[i % 8];
      span.textContent = `${name}: ${last === undefined ? "–" : +last.toPrecision(4)}   `;
      return span;
    }), `highest ${+most.toPrecision(3)}`);
  });
}

async function look() {
  if (over) return;
  let seen;
  try { seen = await (await fetch("/samples?from=" + next)).json(); }
  catch { over = true; at("state").textContent = "ended"; for (const b of document.querySelectorAll("button")) b.disabled = true; return; }
  if (seen.from + seen.samples.length > next) {
    next = seen.from + seen.samples.length;
    history.push(...seen.samples);
    // What stands still while the work is paused is not drawn.
    history = history.filter((s, i) => i == 0 || JSON.stringify(s) != JSON.stringify(history[i - 1])).slice(-600);
  }
  paused = seen.paused;
  document.title = at("title").textContent = seen.title;
  at("pause").textContent = paused ? "Go on" : "Pause";
  at("state").textContent = paused ? "paused" : "running";
  const last = history.at(-1);
  if (!last) return;
  if (last.fraction >= 0) at("bar").value = last.fraction; else at("bar").removeAttribute("value");
  at("words").textContent = seen.kind == "run" ? `cycle ${last.cycle.toLocaleString("en")}`
    : `${last.done} of ${last.total} jobs done, ${last.running - last.waiting} running, ${last.waiting} in a queue, ${last.failed} failed`;
  draw(seen.kind == "run" ? run_charts(last.tenants.map((t, i) => `${i}: ${t.name}`)) : sweep_charts);
}
look();
setInterval(look, 500);
</script></body></html>
)html";
}

}  // namespace terrace
