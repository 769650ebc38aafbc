// The page of one run: its tenants, how things moved over time, who waited for whom, latencies, power, decisions.
// SPDX-License-Identifier: MIT
"use strict";

// A statistic of each tenant, and a ratio of two.
terrace.stat = (run, name) => run.stats[`gpu.${name}`];
terrace.rates = (run, above, below) => {
  const a = terrace.stat(run, above), b = terrace.stat(run, below);
  return run.tenants.map((_, i) => a && b ? terrace.ratio(a[i], b[i]) : NaN);
};
terrace.tenant_names = (run) => run.tenants.map((tenant, i) => run.tenants.filter((other) => other.name === tenant.name).length > 1 ? `${tenant.name} #${i}` : tenant.name);

terrace.tenant_table = function (run) {
  const el = terrace.el;
  const rows = run.tenants.map((tenant, i) => ({...tenant, i}));
  const at = (name) => (row) => (terrace.stat(run, name) || [])[row.i];
  const ratio = (above, below) => (row) => terrace.rates(run, above, below)[row.i];
  const columns = [
    {title: "tenant", left: true, text: (row) => row.name},
    {title: "SMs", value: (row) => row.sms},
    {title: "IPC", value: (row) => row.ipc, tip: "thread instructions per cycle"},
    {title: "alone", value: (row) => row.alone_ipc, tip: "IPC when it runs alone", node: (row) => row.alone_run ? terrace.run_link(row.alone_run, terrace.number(row.alone_ipc)) : "–"},
    {title: "slowdown", value: (row) => row.alone_ipc / row.ipc},
    {title: "warp instructions", value: (row) => row.warp_instructions},
    {title: "runs", value: (row) => row.completed_runs, tip: "completed executions"},
    {title: "L1 TLB hits", value: ratio("sm.*.l1_tlb.hits", "sm.*.l1_tlb.lookups"), percent: true},
    {title: "L2 TLB hits", value: ratio("l2_tlb.*.hits", "l2_tlb.*.lookups"), percent: true},
    {title: "walks", value: at("mmu.*.walks_done")},
    {title: "L1 hits", value: ratio("sm.*.l1.hits", "sm.*.l1.loads"), percent: true},
    {title: "L2 hits", value: ratio("l2.*.hits", "l2.*.lookups"), percent: true},
    {title: "notes", left: true, text: (row) => [row.capped ? "did not complete" : "", row.fault].filter((word) => word).join("; ")},
  ].map((column) => ({...column, text: column.text || ((row) => column.percent ? terrace.percent(column.value(row)) : terrace.number(column.value(row)))}))
    .filter((column) => rows.some((row) => !["–", ""].includes(column.text(row))));
  return terrace.table(columns, rows);
};

terrace.latency_chart = function (runs, names) {
  const stages = [
    ["memory instruction", "sm.*.load_store.latency", "sm.*.load_store.instructions"], ["L1 TLB miss", "sm.*.l1_tlb.miss_cycles", "sm.*.l1_tlb.misses"],
    ["L2 TLB miss", "l2_tlb.*.miss_cycles", "l2_tlb.*.misses"], ["walk: queue", "mmu.*.queue_cycles", "mmu.*.walks_done"],
    ["walk: service", "mmu.*.service_cycles", "mmu.*.walks_done"], ["DRAM read", "dram.*.data.read_latency", "dram.*.data.replies"],
    ["DRAM read of a walk", "dram.*.walk.read_latency", "dram.*.walk.replies"],
  ];
  const series = runs.flatMap((run, r) => terrace.tenant_names(run).map((name, i) => ({name: names ? `${name}, ${names[r]}` : name,
    values: stages.map(([, above, below]) => { const x = terrace.rates(run, above, below)[i]; return Number.isFinite(x) ? x : null; })})));
  const there = stages.map((_, j) => series.some((one) => one.values[j] !== null));
  if (!there.some((x) => x)) return null;
  return terrace.figure("Where time goes: mean latencies", terrace.chart({kind: "bar", labels: stages.map(([word]) => word).filter((_, j) => there[j]),
    series: series.map((one) => ({...one, values: one.values.filter((_, j) => there[j])})), y_title: "cycles", title: "latencies"}),
  terrace.el("figcaption", {}, "From issue to completion, from a miss to its answer, and so on; a later stage is part of an earlier one."));
};

// Parts of the power model, as a person groups them.
terrace.power_groups = {
  "SMs: leakage and clocks": ["sm_static", "unowned_sms"], "SMs: instructions": ["issue", "integer", "single", "double", "special", "control", "memory"],
  "registers, shared memory, L1": ["registers", "shared", "l1"], "translation": ["l1_tlb", "l2_tlb", "walks"], "crossbar": ["noc"], "L2": ["l2"],
  "DRAM": ["dram_activate", "dram_read", "dram_write", "dram_bus", "dram_refresh", "dram_background"], "everything else": ["uncore"],
};
terrace.power_chart = function (run) {
  const elapsed = terrace.stat(run, "power.elapsed");
  if (!elapsed) return null;
  const columns = terrace.tenant_names(run).concat("nobody");
  const watts = (part, column) => {
    const value = terrace.stat(run, `power.${part}`);
    if (value === undefined) return 0;
    return (Array.isArray(value) ? value[column] ?? 0 : column === run.tenants.length ? value : 0) / elapsed;
  };
  const series = Object.entries(terrace.power_groups).map(([name, parts]) => ({name, values: columns.map((_, i) => terrace.sum(parts.map((part) => watts(part, i))))}))
    .filter((one) => one.values.some((x) => x > 0));
  return terrace.figure(`Power: ${terrace.number(terrace.stat(run, "power.total") / elapsed)} W on average`,
    terrace.chart({kind: "stack", labels: columns, series, y_title: "watts", title: "power"}),
    terrace.el("figcaption", {}, "By whoever causes it. Nobody: what the machine draws whatever tenants do, and SMs that no tenant has for itself."));
};

// Lines over time. series: [{name, values}] of each interval.
terrace.over_time = (run, title, y_title, series, options = {}) => {
  const ends = run.over_time.ends;
  const there = series.filter((one) => one.values.some((value) => Number.isFinite(value)));
  if (!there.length) return null;
  return terrace.figure(title, terrace.chart({kind: "line", low: true, x_title: "cycle", y_title, title, ...options, x_min: 0, x_max: ends[ends.length - 1],
    marks: (run.decisions || []).filter((decision) => decision.tenant === null).map((decision) => decision.cycle),
    series: there.map((one) => ({...one, values: undefined, points: ends.map((x, i) => ({x, y: Number.isFinite(one.values[i]) ? one.values[i] : null}))}))}));
};
terrace.interval_cycles = (run) => run.over_time.ends.map((end, i) => end - (i ? run.over_time.ends[i - 1] : 0));
terrace.series_of = (run, name, tenant) => run.over_time.series[`gpu.${name}{tenant=${tenant}}`];
terrace.rates_over_time = (run, above, below) => terrace.tenant_names(run).map((name, i) => {
  const a = terrace.series_of(run, above, i), b = terrace.series_of(run, below, i);
  return {name, colour: i, values: b ? b.map((x, j) => terrace.ratio(a ? a[j] : 0, x)) : []};
});
terrace.ipc_over_time = (run) => {
  const cycles = terrace.interval_cycles(run);
  return terrace.tenant_names(run).map((name, i) => ({name, colour: i, values: (terrace.series_of(run, "sm.*.thread_instructions", i) || []).map((x, j) => x / cycles[j])}));
};

terrace.time_figures = function (run) {
  const cycles = terrace.interval_cycles(run), names = terrace.tenant_names(run);
  const many = names.length > 1;
  const shares = (name) => names.map((tenant, i) => ({name: tenant, colour: i, values: cycles.map((_, j) => {
    const all = terrace.sum(names.map((_, k) => (terrace.series_of(run, name, k) || [])[j] || 0));
    return terrace.ratio((terrace.series_of(run, name, i) || [])[j] || 0, all);
  })}));
  const waits = names.map((tenant, i) => ({name: tenant, colour: i, values: cycles.map((span, j) => terrace.sum(names.map((_, k) =>
    k === i ? 0 : (run.over_time.series[`waits{tenant=${i} holder=${k}}`] || [])[j] || 0)) / span)}));
  const total = run.over_time.series["gpu.power.total"], elapsed = run.over_time.series["gpu.power.elapsed"];
  const share = {kind: "area", percent: true, y_max: 1};
  return [
    terrace.over_time(run, "IPC (thread instructions per cycle)", "", terrace.ipc_over_time(run)),
    many && waits.some((one) => one.values.some((x) => x > 0)) ? terrace.over_time(run, "Requests that wait for other tenants, on average", "", waits) : null,
    terrace.over_time(run, "L1 TLB hit rate", "", terrace.rates_over_time(run, "sm.*.l1_tlb.hits", "sm.*.l1_tlb.lookups"), {percent: true, zero: false}),
    terrace.over_time(run, "L2 TLB hit rate", "", terrace.rates_over_time(run, "l2_tlb.*.hits", "l2_tlb.*.lookups"), {percent: true}),
    many ? terrace.over_time(run, "Shares of the L2 TLB's look-ups", "", shares("l2_tlb.*.lookups"), share) : null,
    many ? terrace.over_time(run, "Shares of the walkers' time", "", shares("mmu.*.service_cycles"), share) : null,
    terrace.over_time(run, "Latency of walks, waiting included", "cycles", terrace.tenant_names(run).map((name, i) => {
      const [queued, served, walks] = ["queue_cycles", "service_cycles", "walks_done"].map((what) => terrace.series_of(run, `mmu.*.${what}`, i) || []);
      return {name, colour: i, values: walks.map((x, j) => terrace.ratio((queued[j] || 0) + (served[j] || 0), x))};
    })),
    terrace.over_time(run, "DRAM data buses in use (DRAM cycles per core cycle)", "", names.map((name, i) => ({name, colour: i,
      values: (terrace.series_of(run, "dram.*.data.bus_cycles", i) || []).map((x, j) => x / cycles[j])}))),
    total && elapsed ? terrace.over_time(run, "Power", "watts", [{name: "whole machine", values: total.map((x, j) => terrace.ratio(x, elapsed[j]))}]) : null,
  ].filter((figure) => figure);
};

// Kernels of each tenant, which SMs an SM partitioner gave to each tenant, and intervals, along one axis of time.
terrace.timeline = function (run) {
  if (!run.spans.length) return null;
  const rows = terrace.tenant_names(run);
  const cycles = (from, to) => `cycles ${terrace.number(from)} to ${terrace.number(to)}`;
  const series = terrace.unique(run.spans.map((span) => span.name)).map((name) => ({name, spans: run.spans.filter((span) => span.name === name).map((span) => (
    {row: span.tenant, from: span.from, to: span.to, tip: `${name}${span.launches > 1 ? `, ${`${terrace.number(span.launches)} launches`}` : ""}: ${cycles(span.from, span.to)}`}))}));
  if (run.decisions.length) {
    const last = run.decisions.filter((each, i) => i + 1 === run.decisions.length || run.decisions[i + 1].cycle > each.cycle);
    rows.push("SMs");
    series.push({name: "SMs of each tenant", colour: 7, pale: true, spans: last.map((each, i) => ({row: rows.length - 1, from: each.cycle, to: i + 1 < last.length ? last[i + 1].cycle : run.cycles,
      tip: `${each.sms.join(" + ")} SMs from cycle ${terrace.number(each.cycle)}: ${each.text}`}))});
  }
  if (run.over_time) {
    const ends = run.over_time.ends;
    rows.push("intervals");
    series.push({name: "intervals", colour: 6, pale: true, spans: ends.map((end, i) => ({row: rows.length - 1, from: i ? ends[i - 1] : 0, to: end, tip: `interval ${i}: ${cycles(i ? ends[i - 1] : 0, end)}`}))});
  }
  return terrace.span_chart({title: "When kernels ran", rows, series, x_title: "cycles", x_max: run.cycles});
};

terrace.decision_table = (run) => terrace.table([
  {title: "cycle", text: (row) => terrace.number(row.cycle), value: (row) => row.cycle},
  {title: "tenant", left: true, text: (row) => row.tenant === null ? "all" : terrace.tenant_names(run)[row.tenant]},
  {title: "measured or decided", left: true, text: (row) => row.text},
  {title: "SMs from then on", left: true, text: (row) => row.sms.join(" + ")},
], run.decisions, {most: 60});

terrace.metric_cards = function (run) {
  const metrics = run.metrics || {};
  const elapsed = terrace.stat(run, "power.elapsed");
  return [[terrace.number(run.cycles), "cycles"], [terrace.number(run.ipc), "total IPC"], ["weighted_speedup" in metrics && terrace.number(metrics.weighted_speedup), "weighted speedup"],
    ["fairness" in metrics && terrace.number(metrics.fairness), "fairness"], ["max_slowdown" in metrics && terrace.number(metrics.max_slowdown), "maximum slowdown"],
    [elapsed && `${terrace.number(terrace.stat(run, "power.total") / elapsed)} W`, "average power"]].filter(([value]) => value)
    .map(([value, word]) => terrace.el("div", {}, terrace.el("b", {}, value), terrace.el("span", {}, word)));
};

terrace.show_run = function (main, run, data) {
  const el = terrace.el;
  document.title = `${run.title} · ${run.design} · Terrace`;
  main.append(el("h1", {}, `${run.title}${run.design && !run.alone ? ` under ${run.design}` : ""}`));
  main.append(el("p", {}, [run.alone ? run.reference : "", run.machine, `size ${run.size}`, `SMs: ${run.sms}`, `seed ${run.seed}`, run.settings].filter((word) => word).map((word) => el("span.chip", {}, word)),
    data.names.filter((entry) => run.sweeps.includes(entry.name)).map((entry) => el("a.chip", {href: entry.page}, terrace.sweep_name(entry))), el("a.chip", {href: `compare.html#${run.id}`}, "compare with another run")));
  if (run.state !== "done") { main.append(el("div.card", {}, el("p.problem", {}, "This run failed."), el("pre", {}, run.message))); return; }
  main.append(el("div.numbers", {}, terrace.metric_cards(run)));
  const alone = run.tenants.some((tenant) => tenant.alone_ipc);
  const bars = run.tenants.length > 1 ? terrace.figure(alone ? "IPC of each tenant, together and alone" : "IPC of each tenant", terrace.chart({kind: "bar", labels: terrace.tenant_names(run), title: "IPC", series: [{name: "in this run", values: run.tenants.map((tenant) => tenant.ipc)}]
      .concat(alone ? [{name: "alone", colour: 7, values: run.tenants.map((tenant) => tenant.alone_ipc ?? null)}] : [])}),
  alone ? el("figcaption", {}, `Alone: ${run.reference}.`) : "") : "";
  main.append(el("h2", {}, "Tenants"), el("div.card", {}, terrace.tenant_table(run)));
  main.append(el("div.grid", {}, bars, terrace.latency_chart([run]) || "", terrace.power_chart(run) || ""));
  const map = terrace.blame_map(run);
  if (map) main.append(el("h2", {}, "Who waits for whom"), el("div.card", {}, map, el("figcaption", {},
    "Cycles that requests waited, as shares of all that the tenant waited. Blue: for itself; red: for another tenant; grey: for nobody in particular.")));
  const when = terrace.timeline(run);
  if (when) main.append(el("h2", {}, "Timeline"), el("div.card", {}, when, el("figcaption", {}, "When the kernels of each tenant ran; launches that follow each other closely are one bar.",
    run.decisions.length ? " The row of SMs changes its shade whenever the SM partitioner decides." : "", " Every launch, walk and request: terrace run --timeline FILE.")));
  main.append(el("h2", {}, "Over time"));
  if (run.over_time) main.append(el("div.grid", {}, terrace.time_figures(run)), el("p.soft", {}, `A point for each ${terrace.number(run.over_time.every)} cycles or a little more.`));
  else main.append(el("div.card", {}, el("p", {}, "This run kept no statistics over time. A sweep keeps them with"), el("pre", {}, "terrace sweep FILE.toml --stats-every 5000")));
  if (run.decisions.length) main.append(el("h2", {}, "Decisions of the SM partitioner"), el("div.card", {}, terrace.decision_table(run)));
  if (run.kernels.length) main.append(el("h2", {}, "Kernels"), el("div.card", {}, terrace.table([
    {title: "tenant", left: true, text: (row) => terrace.tenant_names(run)[row.tenant]}, {title: "kernel", left: true, text: (row) => row.name},
    {title: "launches", text: (row) => terrace.number(row.launches), value: (row) => row.launches}, {title: "cycles", text: (row) => terrace.number(row.cycles), value: (row) => row.cycles},
    {title: "warp instructions", text: (row) => terrace.number(row.warp_instructions), value: (row) => row.warp_instructions},
    {title: "IPC", text: (row) => terrace.number(row.thread_instructions / row.cycles), value: (row) => row.thread_instructions / row.cycles}], run.kernels)));
  main.append(el("h2", {}, "The same run again"), el("div.card", {}, el("pre", {}, `sqlite3 ${data.about.store} "SELECT config FROM job WHERE id = '${run.id}'" > job.toml\nterrace run --gpu job.toml`),
    el("p.soft", {}, `Digest ${run.digest}; revision ${run.revision}, ${run.compiler}; ${terrace.seconds(run.simulation_seconds)} of simulation, ${terrace.short(run.peak_rss_bytes)}B of memory.`)));
};

terrace.pages.run = async function (main, data) {
  const id = location.hash.slice(1);
  if (!id) {
    main.append(terrace.el("h1", {}, "Runs"), terrace.el("div.card", {}, terrace.run_table(await terrace.need_runs())));
    return;
  }
  terrace.show_run(main, await terrace.need_run(id), data);
};
