// The page of a sweep: every figure and table that its file asks for, measured beside printed, and its runs.
// SPDX-License-Identifier: MIT
"use strict";

terrace.claims_table = function (sweep) {
  const el = terrace.el;
  const board = new Map(sweep.board.map((row) => [row.id, row]));
  const columns = [
    {title: "claim", left: true, text: (claim) => board.has(claim.id) ? board.get(claim.id).statement : claim.id, node: (claim) => board.has(claim.id)
      ? [board.get(claim.id).statement, el("br"), el("small", {}, claim.id)] : claim.id},
    {title: "measured", text: (claim) => claim.problem || claim.text, value: (claim) => claim.value ?? NaN, muted: (claim) => claim.muted},
  ];
  if (board.size) columns.push(
    {title: "printed", text: (claim) => (board.get(claim.id) || {}).printed || ""},
    {title: "verdict", left: true, text: (claim) => (board.get(claim.id) || {}).verdict || "", node: (claim) => board.has(claim.id)
      ? el(`span.verdict.${terrace.verdict_class(board.get(claim.id).verdict)}`, {}, board.get(claim.id).verdict) : ""});
  if (sweep.claims.some((claim) => claim.note)) columns.push({title: "note", left: true, text: (claim) => claim.note});
  columns.push({title: "computed as", left: true, text: (claim) => claim.expression, node: (claim) => el("code", {}, claim.expression)});
  return terrace.filtered_table(columns, sweep.claims, []);
};

terrace.printed_chart = function (sweep) {
  const rows = sweep.board.filter((row) => Number.isFinite(row.printed_number) && Number.isFinite(row.measured_number));
  if (!rows.length) return null;
  return terrace.figure("Printed and measured", terrace.chart({kind: "bar", labels: rows.map((row) => row.id), title: "Printed and measured",
    series: [{name: "printed", colour: 7, values: rows.map((row) => row.printed_number)}, {name: "measured", colour: 0, values: rows.map((row) => row.measured_number)}]}));
};

terrace.pages.sweep = async function (main, data) {
  const el = terrace.el;
  const sweep = data.sweep;
  const runs = await terrace.need_runs();
  main.append(el("h1", {}, sweep.summary || sweep.name), el("p.lead", {}, `Sweep ${sweep.name}: ${terrace.what_was_run(sweep)}.`));
  const sentences = terrace.outcomes(sweep);
  if (sentences.length) main.append(el("div.card", {}, el("ul.next", {}, sentences.map((sentence) => el("li", {}, sentence)))));
  const printed = terrace.printed_chart(sweep);
  if (printed) main.append(printed);
  const designs = terrace.designs_figure(sweep);
  if (designs) main.append(designs);
  if (sweep.plots.length) main.append(el("h2", {}, "Figures"), el(sweep.plots.some((plot) => plot.panels && plot.panels.length > 1) ? "div" : "div.grid", {}, sweep.plots.map(terrace.plot)));
  if (sweep.tables.length) main.append(el("h2", {}, "Tables"), ...sweep.tables.map(terrace.result_table));
  if (sweep.claims.length) main.append(el("h2", {}, "Numbers"), el("div.card", {}, terrace.claims_table(sweep)));
  const own = runs.filter((run) => run.sweeps.includes(sweep.name));
  main.append(el("h2", {}, `Runs`), el("div.card", {}, terrace.run_table(own)));
};
