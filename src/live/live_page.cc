// SPDX-License-Identifier: MIT
#include "live/live_server.h"

namespace terrace {

const char* live_page() {
  return R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Terrace</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<style>progress { width: 100%; height: .8rem; } h1 { overflow-wrap: anywhere; }</style>
<script src="/chart.js"></script><script src="/terrace.js"></script></head><body>
<header class="top"><span class="brand">Terrace</span><nav></nav><button id="theme" aria-label="light or dark">◐</button></header>
<main><h1 id="title">Terrace</h1>
<p><button id="pause">Pause</button> <button id="step">Step</button> <button id="stop">Stop</button> <span id="state" class="soft">connecting</span></p>
<progress id="bar" max="1"></progress><p id="words"></p>
<div id="charts" class="grid"></div></main>
<script>
"use strict";
const at = id => document.getElementById(id);
let next = 0, history = [], paused = false, over = false, figures = null;
terrace.theme.apply();
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
const ask = what => fetch("/" + what, {method: "POST", headers: {"X-Terrace": "1"}}).then(look);
at("theme").onclick = () => terrace.theme.toggle();
at("pause").onclick = () => ask(paused ? "resume" : "pause");
at("step").onclick = () => ask("step");
at("stop").onclick = () => ask("stop");

// Each chart: a title and, for two samples that follow each other, a number for every series.
const run_charts = (names, parts) => [
  {title: "IPC (thread instructions per cycle)", series: names, value: (a, b, i) => rate(a, b, i, "thread_instructions")},
  {title: "Page walks in service", series: names, value: (a, b, i) => b.tenants[i].walks},
  {title: "Page walks that wait for a walker", series: ["all tenants"], value: (a, b) => b.walks_waiting},
  {title: "L2 hit rate", series: names, percent: true, value: (a, b, i) => share(a, b, i, "l2_hits", "l2_requests")},
  {title: "Memory lines per 1,000 cycles", series: names, value: (a, b, i) => 1000 * rate(a, b, i, "dram_lines")},
  // Only of tenants that share a machine.
  ...(parts.length ? [
    {title: "Requests that wait, by tenant", series: names, value: (a, b, i) => waiting(a, b, sample => sum(sample.waits.map(part => part.cycles[i])))},
    {title: "Requests that wait, by part of the machine", series: parts, value: (a, b, i) => waiting(a, b, sample => sum(sample.waits[i].cycles))}] : [])];
const sweep_charts = () => [
  {title: "Jobs running", series: ["running", "in a queue"], value: (a, b, i) => i ? b.waiting : b.running - b.waiting},
  {title: "Jobs done", series: ["done", "failed"], value: (a, b, i) => i ? b.failed : b.done}];
const rate = (a, b, i, key) => b.cycle > a.cycle ? (b.tenants[i][key] - a.tenants[i][key]) / (b.cycle - a.cycle) : NaN;
const sum = numbers => numbers.reduce((all, each) => all + each, 0);
// Cycles of waiting in a cycle: how many requests wait, on average.
const waiting = (a, b, total) => b.cycle > a.cycle ? (total(b) - total(a)) / (b.cycle - a.cycle) : NaN;
const share = (a, b, i, part, whole) => terrace.ratio(b.tenants[i][part] - a.tenants[i][part], b.tenants[i][whole] - a.tenants[i][whole]);

// The report's charts, drawn anew whenever there is something new.
function make_figures(run, last) {
  const charts = run ? run_charts(last.tenants.map((tenant, i) => `${i}: ${tenant.name}`), last.waits.map(each => each.part)) : sweep_charts();
  figures = charts.map(chart => {
    const spec = {kind: "line", low: true, title: chart.title, x_title: run ? "cycle" : "samples", percent: chart.percent,
      series: chart.series.map(name => ({name, points: []}))};
    const plot = terrace.chart(spec);
    at("charts").append(terrace.figure(chart.title, plot));
    return {chart, spec, plot};
  });
  terrace.waiting.splice(0);
}
function draw() {
  for (const {chart, spec, plot} of figures) {
    spec.series.forEach((series, i) => {
      series.points = history.slice(1).map((b, k) => ({x: b.cycle ?? k, y: chart.value(history[k], b, i)})).map(point => ({x: point.x, y: Number.isFinite(point.y) ? point.y : null}));
    });
    plot.draw();
  }
}

async function look() {
  if (over) return;
  let seen;
  try { seen = await (await fetch("/samples?from=" + next)).json(); }
  catch { over = true; at("state").textContent = "ended"; for (const b of document.querySelectorAll("main button")) b.disabled = true; return; }
  const before = next;
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
  const last = history.at(-1), run = seen.kind == "run";
  if (!last) return;
  if (last.fraction >= 0) at("bar").value = last.fraction; else at("bar").removeAttribute("value");
  at("words").textContent = run ? `cycle ${last.cycle.toLocaleString("en")}`
    : `${last.done} of ${last.total} jobs done, ${last.running - last.waiting} running, ${last.waiting} in a queue, ${last.failed} failed`;
  if (!figures) make_figures(run, last);
  if (next > before) draw();
  document.documentElement.dataset.state = "ready";
}
look();
setInterval(look, 500);
</script></body></html>
)html";
}

}  // namespace terrace
