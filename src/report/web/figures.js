// What sweep files ask for, drawn: plots, tables with their chart, designs beside each other; and heat maps.
// SPDX-License-Identifier: MIT
"use strict";

// Labels in the order of numbers where they are numbers, else as they come.
terrace.ordered = function (labels) {
  const all = terrace.unique(labels);
  return all.every((label) => label !== "" && Number.isFinite(Number(label))) ? all.sort((a, b) => a - b) : all;
};

terrace.panel_chart = function (plot, panel, names, low) {
  const all = panel.series.flatMap((series) => series.points.map((point) => point.x));
  const labels = terrace.ordered(all);
  const curve = plot.kind === "line" && labels.every((label) => Number.isFinite(Number(label)));
  const series = panel.series.map(({name, points}) => {
    const at = new Map(points.map((point) => [point.x, point]));
    const list = curve ? points.slice().sort((a, b) => a.x - b.x) : labels.map((label) => at.get(label));
    return {
      name: name || plot.y_title, colour: Math.max(0, names.indexOf(name)),
      points: curve ? list.map((point) => ({x: Number(point.x), y: point.y})) : undefined,
      values: curve ? undefined : list.map((point) => point ? point.y : null),
      half: list.map((point) => point ? point.half : 0), muted: list.map((point) => Boolean(point && point.muted)),
    };
  });
  return terrace.chart({kind: plot.kind, labels: curve ? undefined : labels, series, x_title: plot.x_title, y_title: plot.y_title,
    neutral: plot.neutral, low, title: plot.title});
};

// A plot of a sweep file: one chart, or one for each panel.
terrace.plot = function (plot) {
  const el = terrace.el;
  if (plot.problem) return terrace.figure(plot.title, el("p.problem", {}, plot.problem));
  const names = terrace.unique(plot.panels.flatMap((panel) => panel.series.map((series) => series.name)));
  const note = el("figcaption", {}, plot.note, plot.note ? " " : "", plot.picture ? el("a", {href: plot.picture}, "as a picture (SVG)") : "");
  if (plot.panels.length === 1) return terrace.figure(plot.title, terrace.panel_chart(plot, plot.panels[0], names), note);
  return el("section.card", {}, el("h3", {}, plot.title), el("div.grid.small", {}, plot.panels.map((panel) =>
    el("figure", {}, el("b", {}, panel.title), terrace.panel_chart(plot, panel, names, true)))), note);
};

// "≈ 12.3 ± 1.4" is 12.3 with 1.4.
terrace.cell_number = function (text) {
  const found = /^(?:≈ )?(-?[0-9.]+(?:e[-+]?[0-9]+)?)(?: ± ([0-9.]+))?$/.exec(text);
  return found ? {value: Number(found[1]), half: Number(found[2] || 0)} : null;
};

// Columns "CURVE @ X": a curve for each name, a chart for each row of the table.
terrace.curves = function (table) {
  const columns = table.header.slice(1).map((title) => title.split(" @ "));
  const names = terrace.unique(columns.map(([name]) => name)), labels = terrace.unique(columns.map(([, x]) => x));
  return table.rows.map((row) => ({title: row[0], labels: labels.slice(), series: names.map((name, colour) => ({name, colour, values: labels.map((label) => {
    const at = columns.findIndex(([its, x]) => its === name && x === label), cell = at < 0 ? null : terrace.cell_number(row[at + 1]);
    return cell ? cell.value : null;
  })}))}));
};

// Grouped bars: a group for each row, a bar for each column. Columns of quite another size than the first are there, but
// switched off.
terrace.table_chart = function (table) {
  const labels = table.rows.map((row) => row[0]);
  if (table.chart === "curves")
    return terrace.el("div.grid", {}, terrace.curves(table).map((panel) => terrace.chart({kind: "line", title: table.title, labels: panel.labels, series: panel.series, y_title: table.y_title})));
  const columns = table.header.slice(1).map((name, i) => {
    const cells = table.rows.map((row) => terrace.cell_number(row[i + 1]));
    return {name, values: cells.map((cell) => cell ? cell.value : null), half: cells.map((cell) => cell ? cell.half : 0),
      muted: table.rows.map((_, j) => table.muted[j][i + 1])};
  }).filter((column) => column.values.some((value) => value !== null));
  if (labels.length === 0 || columns.length === 0 || table.chart === "none") return null;
  const size = (column) => Math.max(...column.values.map((value) => Math.abs(value || 0)), 1e-12);
  const first = size(columns[0]);
  if (!table.chart) for (const column of columns) column.hidden = size(column) > 8 * first || size(column) < first / 30;
  // A table of many different things is no chart.
  if (columns.filter((column) => column.hidden).length > columns.length / 3) return null;
  const numbers = labels.every((label) => Number.isFinite(Number(label)));
  if (numbers && (table.chart === "line" || (!table.chart && labels.length > 3))) {
    const order = labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b]);
    return terrace.chart({kind: "line", title: table.title, x_title: table.header[0], series: columns.map((column) => ({...column, values: undefined,
      points: order.map((i) => ({x: Number(labels[i]), y: column.values[i]})), half: order.map((i) => column.half[i]), muted: order.map((i) => column.muted[i])}))});
  }
  return terrace.chart({kind: table.chart || "bar", labels, series: columns, title: table.title});
};

terrace.result_table = function (table) {
  const el = terrace.el;
  if (table.problem) return terrace.figure(table.title, el("p.problem", {}, table.problem));
  const rows = table.rows.map((cells, i) => ({cells, muted: table.muted[i]}));
  const shown = terrace.table(table.header.map((title, i) => ({
    title, left: i === 0, text: (row) => row.cells[i], muted: (row) => row.muted[i],
    value: (row) => { const cell = terrace.cell_number(row.cells[i]); return cell ? cell.value : row.cells[i]; },
  })), rows);
  const notes = table.notes.map((note) => el("figcaption", {}, note));
  const chart = terrace.table_chart(table);
  const many = rows.length > 12;
  return terrace.figure(table.title, chart || "", chart && many ? el("details", {}, el("summary", {}, `The ${rows.length} rows as numbers`), shown) : shown, notes);
};

// Every mix under every design, as papers show it: groups of bars, the mean at the end; any metric, relative to any design.
terrace.designs_figure = function (sweep) {
  const el = terrace.el;
  const points = sweep.points.filter((point) => Object.keys(point.metrics).length);
  const designs = terrace.unique(points.map((point) => point.labels.design));
  const metrics = ["total_ipc", "weighted_speedup", "weighted_ipc", "stp", "fairness", "max_slowdown", "antt"].filter((name) =>
    points.length && points.every((point) => name in point.metrics));
  if (designs.length < 2 || metrics.length === 0) return null;
  const apart = Object.keys(Object.assign({}, ...points.map((point) => point.labels))).filter((label) =>
    !["mix", "design", "seed", "list", "grid"].includes(label) && terrace.unique(points.map((point) => point.labels[label])).length > 1);
  const group_of = (point) => [point.labels.mix, ...apart.map((label) => point.labels[label])].filter((word) => word).join(" · ");
  const groups = terrace.unique(points.map(group_of)), seeds = terrace.unique(points.map((point) => point.labels.seed));
  const words = {total_ipc: "total IPC", weighted_speedup: "weighted speedup", weighted_ipc: "weighted IPC", stp: "STP", fairness: "fairness",
    max_slowdown: "maximum slowdown", antt: "ANTT"};
  const metric = el("select", {"aria-label": "metric", onchange: draw}, metrics.map((name) => el("option", {value: name}, words[name])));
  const base = el("select", {"aria-label": "against which design", onchange: draw}, el("option", {value: ""}, "as measured"),
    designs.map((design) => el("option", {value: design}, `against ${design}, %`)));
  base.value = designs[0];
  const holder = el("div");
  const note = el("figcaption");
  function draw() {
    // By seed: comparisons are made within a seed, and the mean over seeds comes last.
    const at = new Map(points.map((point) => [`${group_of(point)}\n${point.labels.design}\n${point.labels.seed}`, point.metrics[metric.value]]));
    const value = (group, design, seed) => {
      const own = at.get(`${group}\n${design}\n${seed}`);
      return base.value ? own / at.get(`${group}\n${base.value}\n${seed}`) : own;
    };
    const shown_as = (x) => base.value ? 100 * (x - 1) : x;
    const means = (list) => {
      const there = list.filter((x) => Number.isFinite(x) && x > 0);
      return there.length ? Math.exp(terrace.mean(there.map(Math.log))) : NaN;
    };
    const series = designs.filter((design) => design !== base.value).map((design) => {
      const cells = groups.map((group) => seeds.map((seed) => shown_as(value(group, design, seed))));
      if (groups.length > 1) cells.push(seeds.map((seed) => shown_as(means(groups.map((group) => value(group, design, seed))))));
      const there = cells.map((list) => list.filter((x) => Number.isFinite(x)));
      const half = there.map(terrace.half_interval);
      const values = there.map((list) => list.length ? terrace.mean(list) : null);
      return {name: design, colour: designs.indexOf(design), values, half, muted: values.map((x, i) => Boolean(base.value) && half[i] > 0 && Math.abs(x) <= half[i])};
    });
    holder.replaceChildren(terrace.chart({kind: "bar", labels: groups.length > 1 ? groups.concat("geometric mean") : groups, series,
      y_title: words[metric.value] + (base.value ? `, change in %` : ""), neutral: base.value ? 0 : undefined, title: sweep.name}));
    note.textContent = seeds.length > 1 ? `Means over ${seeds.length} seeds with their 95 % intervals.${base.value ? " Pale: within noise." : ""}` : "One seed: small differences may be noise.";
    terrace.draw_waiting();
  }
  terrace.waiting.push(draw);
  return terrace.figure(groups.length > 1 ? "Every mix under every design" : `${groups[0].replaceAll("+", " + ")} under every design`,
    el("div.filters", {}, metric, base), holder, note);
};

// Structures as rows; for each tenant that waits, a column for each holder. The shade is the share of all that the tenant waited.
terrace.blame_map = function (run) {
  const el = terrace.el;
  const names = run.tenants.map((tenant, i) => run.tenants.filter((other) => other.name === tenant.name).length > 1 ? `${tenant.name} #${i}` : tenant.name);
  if (!run.blame.length) return null;
  const few = names.length <= 4;
  const columns = names.flatMap((name, waits) => few
    ? names.concat("nobody").map((holder, i) => ({waits, holder: i === waits ? "itself" : holder, kind: i === waits ? "own" : i === names.length ? "none" : "other",
      of: (matrix) => matrix[waits][i]}))
    : [["itself", "own", (matrix) => matrix[waits][waits]], ["others", "other", (matrix) => terrace.sum(matrix[waits]) - matrix[waits][waits] - matrix[waits][names.length]],
      ["nobody", "none", (matrix) => matrix[waits][names.length]]].map(([holder, kind, of]) => ({waits, holder, kind, of})));
  const total = names.map((_, waits) => terrace.sum(run.blame.map((part) => terrace.sum(part.cycles[waits]))));
  const shade = {own: "--shade", other: "--alarm", none: "--grey"};
  const first = (i) => i === 0 || columns[i].waits !== columns[i - 1].waits ? ".group" : "";
  const cell = (column, i, cycles) => {
    const share = terrace.ratio(cycles, total[column.waits]);
    return el(`td${first(i)}`, {style: `background: rgba(var(${shade[column.kind]}), ${Math.min(0.85, 1.1 * Math.sqrt(share || 0)).toFixed(3)})`,
      title: `${names[column.waits]} waited ${terrace.number(cycles)} cycles for what ${column.holder === "itself" ? "it held itself" : `${column.holder} held`}`},
    cycles > 0 ? terrace.percent(share) : "–");
  };
  return el("div.scroll", {}, el("table.heat", {}, el("thead", {},
    el("tr", {}, el("th.left", {}, ""), names.map((name, waits) => el("th.group", {colspan: columns.filter((column) => column.waits === waits).length},
      `${name} waits (${terrace.short(total[waits])} cycles)`))),
    el("tr", {}, el("th.left", {}, "at"), columns.map((column, i) => el(`th${first(i)}`, {}, `for ${column.holder}`)))),
  el("tbody", {}, run.blame.map((part) => el("tr", {}, el("td.left", {}, part.title), columns.map((column, i) => cell(column, i, column.of(part.cycles))))))));
};
