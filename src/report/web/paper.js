// The page of a paper: each figure redrawn from what was measured, with the printed numbers in it, and what the paper claims of
// it with the verdicts.
// SPDX-License-Identifier: MIT
"use strict";

// "fig13" of "simt.fig13a.l2tlb1024", "table3" of a plot called table3_latency; else "".
terrace.figure_key = function (name) {
  const found = /^(fig|table)(\d+)/.exec(name);
  return found ? found[1] + found[2] : "";
};
terrace.figure_name = (key) => key.replace(/^fig/, "Figure ").replace(/^table/, "Table ");
terrace.claim_key = (id) => terrace.figure_key(id.split(".")[1] || "");

terrace.paper_short = {mask: "MASK", simt: "SIMT-aware walks", dws: "DWS", cdsearch: "CD-search", vc: "Virtual caching"};
terrace.sweep_name = function (entry) {
  const size = entry.paper && entry.name.startsWith(`${entry.paper}_`) ? entry.name.slice(entry.paper.length + 1) : "";
  return entry.paper ? `${terrace.paper_short[entry.paper] || entry.paper}${size ? `, ${size}` : ""}` : entry.name;
};

// A number that a claim prints, in the unit of a chart: changes in percent become ratios where 1 means no difference, and the other way.
terrace.printed_value = function (point, board, neutral) {
  if (!point.claim) return point.value;
  const row = board.get(point.claim);
  if (!row || !Number.isFinite(row.printed_number)) return null;
  if (row.unit === "percent_change" && neutral === 1) return 1 + row.printed_number / 100;
  if (row.unit === "ratio" && neutral === 0) return 100 * (row.printed_number - 1);
  return row.printed_number;
};

terrace.mean_of = function (kind, values, neutral) {
  const there = values.filter((value) => Number.isFinite(value));
  if (!there.length) return null;
  if (kind !== "gmean") return terrace.mean(there);
  // Of changes in percent, the mean of the ratios behind them.
  const ratios = neutral === 0 ? there.map((value) => 1 + value / 100) : there;
  if (ratios.some((ratio) => ratio <= 0)) return null;
  const mean = Math.exp(terrace.mean(ratios.map(Math.log)));
  return neutral === 0 ? 100 * (mean - 1) : mean;
};

// Adds the group of the mean, and where the printed numbers stand.
terrace.with_printed = function (labels, series, spec, board) {
  const word = spec.mean === "gmean" ? "geometric mean" : "mean";
  if (spec.mean && labels.length > 1) {
    labels.push(word);
    for (const each of series) {
      each.values.push(terrace.mean_of(spec.mean, each.values, spec.neutral));
      if (each.half) each.half.push(0);
      if (each.muted) each.muted.push(false);
    }
  }
  let any = false;
  for (const each of series) {
    each.printed = labels.map(() => null);
    for (const point of spec.printed || []) {
      if (point.series !== each.name && !(point.series === "" && series.length === 1)) continue;
      const at = point.x === "" ? labels.length - 1 : labels.indexOf(point.x);
      const value = at < 0 ? null : terrace.printed_value(point, board, spec.neutral);
      if (Number.isFinite(value)) { each.printed[at] = value; any = true; }
    }
  }
  return any;
};

terrace.paper_chart = function (spec, labels, series, board, low) {
  const any = terrace.with_printed(labels, series, spec, board);
  // Shares of a whole end at 100.
  const whole = spec.kind === "stack" && labels.every((_, i) => terrace.sum(series.map((each) => each.values[i] || 0)) < 100.5) && labels.some((_, i) => terrace.sum(series.map((each) => each.values[i] || 0)) > 99);
  const chart = terrace.chart({kind: spec.kind, labels, series, y_title: spec.y_title, x_title: spec.x_title, neutral: spec.neutral ?? undefined, title: spec.title,
    low, slim: true, y_max: whole ? 100 : undefined});
  return {chart, any};
};

terrace.paper_plot = function (plot, board) {
  const el = terrace.el;
  if (plot.problem) return el("p.soft", {}, `${plot.title}: ${plot.problem}`);
  const names = terrace.unique(plot.panels.flatMap((panel) => panel.series.map((series) => series.name)));
  let printed = false;
  const panels = plot.panels.map((panel) => {
    const labels = terrace.ordered(panel.series.flatMap((series) => series.points.map((point) => point.x)));
    const numbers = plot.kind === "line" && labels.every((label) => Number.isFinite(Number(label)));
    const series = panel.series.map(({name, points}) => {
      const at = new Map(points.map((point) => [point.x, point]));
      const list = labels.map((label) => at.get(label));
      return {name: name || plot.y_title, colour: Math.max(0, names.indexOf(name)), values: list.map((point) => point ? point.y : null),
        half: list.map((point) => point ? point.half : 0), muted: list.map((point) => Boolean(point && point.muted))};
    });
    if (numbers && !plot.printed.length)
      return [panel, terrace.panel_chart(plot, panel, names, plot.panels.length > 1)];
    const {chart, any} = terrace.paper_chart(plot, labels, series, board, plot.panels.length > 1);
    printed = printed || any;
    return [panel, chart];
  });
  const body = panels.length === 1 ? panels[0][1] : el("div.grid.small", {}, panels.map(([panel, chart]) => el("div", {}, el("b", {}, panel.title), chart)));
  return el("div.redrawn", {}, el("h4", {}, plot.title), body, terrace.chart_note(printed, plot.note));
};

terrace.chart_note = (printed, note) => printed || note ? terrace.el("figcaption", {}, printed ? [terrace.el("span.tick"), " printed. "] : "", note || "") : "";

terrace.paper_curves = function (table, board) {
  const el = terrace.el;
  const panels = terrace.curves(table).map((panel) => ({...panel, ...terrace.paper_chart({...table, kind: "line", mean: ""}, panel.labels, panel.series, board, table.rows.length > 1)}));
  const numbers = terrace.table([{title: "", left: true, text: (row) => row.name}].concat(panels[0].labels.map((label, i) => (
    {title: label, text: (row) => terrace.number(row.values[i]), value: (row) => row.values[i] ?? NaN}))),
  panels.flatMap((panel) => panel.series.map((each) => ({name: panels.length > 1 ? `${panel.title}, ${each.name}` : each.name, values: each.values}))));
  return el("div.redrawn", {}, el("h4", {}, table.title), panels.length === 1 ? panels[0].chart : el("div.grid.small", {}, panels.map((panel) => el("div", {}, el("b", {}, panel.title), panel.chart))),
    terrace.chart_note(panels.some((panel) => panel.any), table.notes.join(" ")), el("details", {}, el("summary", {}, "As numbers"), numbers));
};

terrace.paper_table = function (table, board) {
  const el = terrace.el;
  if (table.problem) return el("p.soft", {}, `${table.title}: ${table.problem}`);
  if (table.chart === "curves") return terrace.paper_curves(table, board);
  const labels = table.rows.map((row) => row[0]);
  const series = table.header.slice(1).map((name, i) => {
    const cells = table.rows.map((row) => terrace.cell_number(row[i + 1]));
    return {name, values: cells.map((cell) => cell ? cell.value : null), half: cells.map((cell) => cell ? cell.half : 0),
      muted: table.rows.map((_, j) => table.muted[j][i + 1])};
  });
  const spec = {...table, kind: table.chart || "bar"};
  const {chart, any} = terrace.paper_chart(spec, labels, series, board);
  const numbers = terrace.table([{title: "", left: true, text: (row) => row.name}].concat(series.map((each) => (
    {title: each.name, text: (row) => terrace.number(each.values[row.at]) + (each.printed[row.at] !== null ? ` (printed ${terrace.number(each.printed[row.at])})` : ""),
      value: (row) => each.values[row.at] ?? NaN}))), labels.map((name, at) => ({name, at})));
  return el("div.redrawn", {}, el("h4", {}, table.title), table.chart === "none" ? numbers : [chart, terrace.chart_note(any, table.notes.join(" ")),
    el("details", {}, el("summary", {}, "As numbers"), numbers)]);
};

terrace.rests_on = (row) => [row.size, row.workloads && `${row.workloads} workloads`, row.seeds && (row.seeds === "1" ? "one seed" : `${row.seeds} seeds`), row.run_length].filter((word) => word).join(", ");
terrace.why_text = (row) => [row.reason, row.link && `explained by ${row.link}`, row.unexplained && "no experiment explains it yet"].filter((word) => word).join("; ");

terrace.claim_list = function (rows) {
  const el = terrace.el;
  return el("div.scroll", {}, el("table.claims", {}, el("thead", {}, el("tr", {}, ["", "printed", "measured", "verdict"].map((title, i) => el(i === 0 || i === 3 ? "th.left" : "th", {}, title)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("td.left", {}, row.headline ? el("b", {}, row.statement) : row.statement,
      el("small", {}, el("br"), [row.source, terrace.rests_on(row)].filter((word) => word).join(" · "), terrace.why_text(row) ? [el("br"), terrace.why_text(row)] : "")),
    el("td", {}, row.printed), el("td", {}, row.measured || "–"), el("td.left", {}, el(`span.verdict.${terrace.verdict_class(row.verdict)}`, {}, row.verdict)))))));
};

// Changes that claims print, beside those measured: where no figure is redrawn, and for the headlines.
terrace.printed_bars = function (rows, title) {
  const there = rows.filter((row) => Number.isFinite(row.printed_number) && Number.isFinite(row.measured_number) && row.unit !== "absolute");
  if (there.length < 2) return null;
  const percent = (row, value) => row.unit === "ratio" ? 100 * (value - 1) : value;
  return terrace.chart({kind: "bar", title, y_title: "change in %", neutral: 0, low: true, labels: there.map((row) => row.id.split(".").slice(1).join(" ").replaceAll("_", " ")),
    series: [{name: "printed", colour: 7, values: there.map((row) => percent(row, row.printed_number))},
      {name: "measured", colour: 0, values: there.map((row) => percent(row, row.measured_number))}]});
};

terrace.verdict_counts = (rows) => ["holds", "direction holds", "does not hold", "too short", "not measured"].map((verdict) => [verdict, rows.filter((row) => row.verdict === verdict).length])
  .filter(([, count]) => count);
terrace.verdict_of_many = (verdict, count) => count === 1 ? verdict : ({"holds": "hold", "does not hold": "do not hold"})[verdict] || verdict;
terrace.verdict_chips = (rows) => terrace.verdict_counts(rows).map(([verdict, count]) =>
  [terrace.el(`span.verdict.${terrace.verdict_class(verdict)}`, {}, `${count} ${terrace.verdict_of_many(verdict, count)}`), " "]);

terrace.pages.paper = async function (main, data) {
  const el = terrace.el;
  const sweep = data.sweep, about = data.papers[sweep.paper] || {title: sweep.paper, venue: ""};
  const board = new Map(sweep.board.map((row) => [row.id, row]));
  const simulated = sweep.board.filter((row) => row.check === "simulation"), headlines = sweep.board.filter((row) => row.headline);
  const runs = await terrace.need_runs();
  const own = runs.filter((run) => run.sweeps.includes(sweep.name));
  document.title = `${terrace.sweep_name(sweep)} · Terrace`;
  main.append(el("h1", {}, about.title));
  main.append(el("p.lead", {}, `${about.venue}. ${terrace.what_was_run_short(sweep)} ${terrace.count(own.length, "simulation")}, runs of single tenants for comparison included.`));
  main.append(el("div.numbers", {}, [["headline claims", headlines], ["claims by simulation", simulated]].map(([word, rows]) =>
    el("div.wide_number", {}, el("b", {}, `${rows.filter((row) => row.verdict === "holds").length} of ${rows.length} hold`), el("span", {}, word), el("p", {}, terrace.verdict_chips(rows))))));
  const bars = terrace.printed_bars(headlines, "Headline claims");
  main.append(el("h2", {}, "Headline claims"), el("div.card", {}, bars || "", terrace.claim_list(headlines)));
  // Figures in the order in which the paper has them.
  const items = sweep.plots.map((plot) => [terrace.figure_key(plot.name), () => terrace.paper_plot(plot, board)])
    .concat(sweep.tables.map((table) => [terrace.figure_key(table.name), () => terrace.paper_table(table, board)]));
  const keys = terrace.unique(simulated.map((row) => terrace.claim_key(row.id)).concat(items.map(([key]) => key))).filter((key) => key);
  const number = (key) => Number(/\d+/.exec(key)[0]) + (key.startsWith("table") ? 1000 : 0);
  keys.sort((a, b) => number(a) - number(b));
  main.append(el("h2", {}, "Figures and tables"), el("p.contents", {}, keys.map((key) => [el("a", {href: `#${key}`}, terrace.figure_name(key)), " "])));
  for (const key of keys) {
    const rows = simulated.filter((row) => terrace.claim_key(row.id) === key);
    const drawn = items.filter(([its]) => its === key).map(([, draw]) => draw());
    const instead = drawn.length ? null : terrace.printed_bars(rows, terrace.figure_name(key));
    main.append(el("section.card", {id: key}, el("h3", {}, terrace.figure_name(key), " ", terrace.verdict_chips(rows)), drawn, instead || "",
      rows.length ? (rows.length > 4 && drawn.length ? el("details", {}, el("summary", {}, `What the paper claims of it (${rows.length})`), terrace.claim_list(rows)) : terrace.claim_list(rows)) : ""));
  }
  const text = simulated.filter((row) => !terrace.claim_key(row.id));
  const extra = items.filter(([key]) => !key).map(([, draw]) => draw());
  if (text.length || extra.length) main.append(el("h2", {}, "In the text"), el("section.card", {}, extra, text.length ? terrace.claim_list(text) : ""));
  const rest = sweep.board.filter((row) => row.check !== "simulation");
  if (rest.length) main.append(el("h2", {}, "Mechanism, sizes, real hardware"), el("section.card", {}, el("details", {}, el("summary", {}, `${terrace.count(rest.length, "claim")} that no simulation measures, or that are a size`), terrace.claim_list(rest))));
  main.append(el("h2", {}, "Runs"), el("div.card", {}, terrace.run_table(own)));
  // A page that is opened at a figure was not drawn yet when the browser looked for it.
  const at = location.hash.slice(1) && document.getElementById(location.hash.slice(1));
  if (at) setTimeout(() => at.scrollIntoView(), 0);
};
