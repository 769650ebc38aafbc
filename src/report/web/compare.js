// Two runs beside each other: what changed, by how much, and where.
// SPDX-License-Identifier: MIT
"use strict";

terrace.compare_rows = function (a, b) {
  const rows = [["cycles", a.cycles, b.cycles], ["total IPC", a.ipc, b.ipc]];
  for (const name of Object.keys(a.metrics || {}))
    if (name !== "total_ipc" && b.metrics && name in b.metrics) rows.push([name.replaceAll("_", " "), a.metrics[name], b.metrics[name]]);
  const names = terrace.tenant_names(a);
  const same = a.tenants.length === b.tenants.length;
  if (same) names.forEach((name, i) => {
    rows.push([`${name}: IPC`, a.tenants[i].ipc, b.tenants[i].ipc]);
    const add = (word, above, below) => rows.push([`${name}: ${word}`, terrace.rates(a, above, below)[i], terrace.rates(b, above, below)[i]]);
    add("L1 TLB hit rate", "sm.*.l1_tlb.hits", "sm.*.l1_tlb.lookups");
    add("L2 TLB hit rate", "l2_tlb.*.hits", "l2_tlb.*.lookups");
    add("walk: cycles in a queue", "mmu.*.queue_cycles", "mmu.*.walks_done");
    add("walk: cycles of service", "mmu.*.service_cycles", "mmu.*.walks_done");
    add("L2 hit rate", "l2.*.hits", "l2.*.lookups");
    add("DRAM read latency", "dram.*.data.read_latency", "dram.*.data.replies");
  });
  return rows.filter(([, x, y]) => Number.isFinite(x) && Number.isFinite(y)).map(([what, x, y]) => ({what, x, y, change: x !== 0 ? 100 * (y / x - 1) : NaN}));
};

terrace.show_comparison = function (main, a, b) {
  const el = terrace.el;
  const short = (run, mark) => `${mark}: ${run.alone ? "alone" : run.design || run.title}`;
  const names = [short(a, "A"), short(b, "B")];
  main.append(el("div.grid", {}, [a, b].map((run, i) => el("div.card", {}, el("h3", {}, i ? "B: " : "A: ", terrace.run_link(run.id, run.title)), el("small", {}, terrace.run_words(run)), el("div.numbers", {}, terrace.metric_cards(run))))));
  const change = (x) => Number.isFinite(x) ? `${Math.abs(x) < 0.05 ? "" : x > 0 ? "+" : "−"}${Math.abs(x).toFixed(1)} %` : "–";
  main.append(el("h2", {}, "What changed"), el("div.card", {}, terrace.filtered_table([
    {title: "", left: true, text: (row) => row.what}, {title: "A", text: (row) => terrace.number(row.x), value: (row) => row.x},
    {title: "B", text: (row) => terrace.number(row.y), value: (row) => row.y}, {title: "change", text: (row) => change(row.change), value: (row) => Math.abs(row.change)}], terrace.compare_rows(a, b), [])));
  const labels = terrace.unique([...terrace.tenant_names(a), ...terrace.tenant_names(b)]);
  const ipc = (run) => labels.map((label) => { const i = terrace.tenant_names(run).indexOf(label); return i < 0 ? null : run.tenants[i].ipc; });
  main.append(el("div.grid", {}, terrace.figure("IPC of each tenant", terrace.chart({kind: "bar", labels, y_title: "thread instructions per cycle", title: "IPC",
    series: [{name: names[0], values: ipc(a)}, {name: names[1], values: ipc(b)}]})), terrace.latency_chart([a, b], ["A", "B"]) || ""));
  if (a.over_time && b.over_time) {
    const lines = (run, mark, dashed) => terrace.ipc_over_time(run).map((one, i) => ({name: `${one.name}, ${mark}`, colour: i, dashed, points: run.over_time.ends.map((x, j) => ({x, y: one.values[j]}))}));
    main.append(terrace.figure("IPC over time", terrace.chart({kind: "line", x_title: "cycle", y_title: "thread instructions per cycle", title: "IPC over time", series: [...lines(a, "A", false), ...lines(b, "B", true)]})));
  }
  const maps = [a, b].map(terrace.blame_map);
  if (maps.some((map) => map)) main.append(el("h2", {}, "Who waits for whom"), ...maps.map((map, i) => map ? el("div.card", {}, el("h3", {}, names[i]), map) : ""));
  const powers = [a, b].map(terrace.power_chart);
  if (powers.some((power) => power)) main.append(el("h2", {}, "Power"), el("div.grid", {}, powers.map((power) => power || "")));
};

terrace.pages.compare = async function (main) {
  const el = terrace.el;
  const runs = (await terrace.need_runs()).filter((run) => run.state === "done");
  const asked = location.hash.slice(1).split(",");
  const first = asked[0] || (runs[0] || {}).id;
  const like = runs.find((run) => run.id === first) || runs[0];
  const second = asked[1] || (runs.find((run) => run.id !== first && run.title === (like || {}).title) || runs.find((run) => run.id !== first) || like || {}).id;
  const choose = (id, name, go) => el("select", {"aria-label": name, onchange: (event) => go(event.target.value)},
    runs.map((run) => el("option", {value: run.id, selected: run.id === id ? "" : null}, `${run.title} · ${terrace.run_words(run)}`)));
  main.append(el("h1", {}, "Two runs side by side"));
  if (!runs.length) { main.append(el("p", {}, "The store has no finished run.")); return; }
  main.append(el("div.filters", {}, el("label", {}, "A ", choose(first, "run A", (id) => { location.hash = `${id},${second}`; })), el("label", {}, "B ", choose(second, "run B", (id) => { location.hash = `${first},${id}`; })),
    el("button", {onclick: () => { location.hash = `${second},${first}`; }}, "Swap")));
  terrace.show_comparison(main, await terrace.need_run(first), await terrace.need_run(second));
};
