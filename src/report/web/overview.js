// The first page: what was run, what came out, what to try next; the claims board; all runs.
// SPDX-License-Identifier: MIT
"use strict";

terrace.what_was_run = function (sweep) {
  const values = (label) => terrace.unique(sweep.points.map((point) => point.labels[label])).filter((value) => value);
  const mixes = values("mix").map((mix) => mix.replaceAll("+", " + ")), designs = values("design");
  const parts = [`${terrace.words(mixes, 4)} on ${terrace.words(values("gpu"))}`];
  if (designs.length > 1 || (designs[0] && designs[0] !== "none")) parts.push(`under ${terrace.words(designs)}`);
  parts.push(`with inputs of size ${terrace.words(values("size"))}`);
  if (values("seed").length > 1) parts.push(`${values("seed").length} seeds each`);
  return parts.join(", ");
};

// For a campaign, which has too many mixes to be listed.
terrace.what_was_run_short = function (sweep) {
  const values = (label) => terrace.unique(sweep.points.map((point) => point.labels[label])).filter((value) => value);
  const mixes = values("mix"), single = mixes.filter((mix) => !mix.includes(" + "));
  const words = [single.length ? terrace.count(single.length, "program") : "", mixes.length > single.length ? `${mixes.length - single.length} mixes of programs` : ""].filter((word) => word);
  const sizes = values("size");
  return `${terrace.words(words)} on ${terrace.words(values("gpu"))} under ${terrace.count(values("design").length, "design")}, inputs of size ${terrace.words(sizes)}, ${values("seed").length > 1 ? `${values("seed").length} seeds` : "one seed"}.`;
};

terrace.verdict_class = (verdict) => ({"holds": "good", "direction holds": "half", "does not hold": "bad"})[verdict] || "none";

terrace.board = function (rows) {
  const el = terrace.el;
  const verdicts = ["holds", "direction holds", "does not hold", "too short", "not measured"].filter((verdict) => rows.some((row) => row.verdict === verdict));
  const papers = terrace.unique(rows.map((row) => row.paper));
  const simulated = rows.filter((row) => row.check === "simulation");
  const tally = terrace.chart({kind: "stack", labels: papers.map((paper) => terrace.paper_short[paper] || paper), y_title: "claims", low: true, title: "Verdicts by paper",
    series: verdicts.map((verdict) => ({name: verdict, colour: {"holds": 2, "direction holds": 5, "does not hold": 8, "too short": 6, "not measured": 7}[verdict],
      values: papers.map((paper) => simulated.filter((row) => row.paper === paper && row.verdict === verdict).length)}))});
  const both = rows.filter((row) => row.printed.includes("%") && Number.isFinite(row.printed_number) && Number.isFinite(row.measured_number));
  const scatter = both.length ? terrace.figure("Changes in percent, printed and measured", terrace.chart({kind: "scatter", low: true, x_title: "printed", y_title: "measured", diagonal: true, zero: false,
    title: "Printed and measured", series: verdicts.map((verdict) => ({name: verdict, colour: {"holds": 2, "direction holds": 5, "does not hold": 8, "too short": 6, "not measured": 7}[verdict],
      points: both.filter((row) => row.verdict === verdict).map((row) => ({x: row.printed_number, y: row.measured_number, id: row.id}))})).filter((series) => series.points.length),
    tip: (name, index, parsed) => { const row = both.filter((each) => each.verdict === name)[index]; return `${row.id}: printed ${row.printed}, measured ${row.measured}`; }})) : "";
  const table = terrace.filtered_table([
    {title: "claim", left: true, text: (row) => `${row.statement} ${row.id}`, node: (row) => [row.headline ? el("b", {}, row.statement) : row.statement, el("br"), el("small", {}, row.id, row.hardware ? " · measured on real hardware by the paper" : "")]},
    {title: "paper", left: true, text: (row) => row.paper},
    {title: "printed", text: (row) => row.printed, value: (row) => row.printed_number ?? NaN},
    {title: "measured", text: (row) => row.measured, value: (row) => row.measured_number ?? NaN},
    {title: "verdict", left: true, text: (row) => row.verdict, node: (row) => el(`span.verdict.${terrace.verdict_class(row.verdict)}`, {}, row.verdict)},
    {title: "rests on", left: true, text: terrace.rests_on},
    {title: "why", left: true, text: terrace.why_text},
  ], rows, [{title: "papers", of: (row) => row.paper}, {title: "verdicts", of: (row) => row.verdict}, {title: "kinds", of: (row) => row.headline ? "headline" : "other"}], {most: 40});
  return [el("div.grid", {}, terrace.figure("Verdicts on what simulation can show", tally), scatter), el("div.card", {}, table)];
};

terrace.next_steps = function (data, runs) {
  const el = terrace.el;
  const done = runs.filter((run) => !run.alone && run.state === "done");
  const several = done.filter((run) => run.title.includes(" + "));
  // In the order of the sweeps' files: what they name first is what the rest is compared with.
  const place = new Map(data.sweeps.flatMap((sweep) => sweep.points).map((point, i) => [point.job, i]));
  const shared = (several.length ? several : done).slice().sort((a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity));
  const steps = [];
  const like_of = (first) => shared.filter((run) => ["title", "machine", "size", "seed"].every((key) => run[key] === first[key]) && run.design !== first.design).pop();
  const first = shared.find(like_of) || shared[0];
  const like = first && like_of(first);
  const last = like || first;
  if (last) steps.push([several.length ? "Look into one run: who waits for whom, and where. " : "Look into one run. ", terrace.run_link(last.id, `${last.title}, ${last.design}`)]);
  if (like) steps.push(["Put two runs beside each other: ", el("a", {href: `compare.html#${first.id},${like.id}`}, `${first.title} under ${first.design} and ${like.design}`)]);
  if (first) steps.push(["Run other tenants together: ", el("pre", {}, `terrace run --gpu ${first.machine} --design ${last.design === "none" ? "ideal" : last.design.split("+")[0]} --tenant bfs --tenant hs --size tiny --alone`)]);
  if (!data.totals.with_stats_over_time && data.names.length) steps.push(["See how things move over time: repeat the sweep with statistics every 5,000 cycles", el("pre", {}, "terrace sweep FILE.toml --stats-every 5000")]);
  if (data.names.length) steps.push(["Know how much is noise: five seeds give every number an interval", el("pre", {}, "terrace sweep FILE.toml --seeds 5")]);
  return el("ul.next", {}, steps.map((step) => el("li", {}, step)));
};

// Half of the 95 % interval of a mean, by Student's t distribution; for more than eleven values a little too wide.
terrace.half_interval = function (values) {
  const t = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
  if (values.length < 2) return 0;
  const mean = terrace.mean(values);
  const deviation = Math.sqrt(terrace.sum(values.map((x) => (x - mean) ** 2)) / (values.length - 1));
  return t[Math.min(values.length - 2, t.length - 1)] * deviation / Math.sqrt(values.length);
};

// A few sentences from the numbers: which design does best against the first one, by how much, and whether that is noise.
terrace.outcomes = function (sweep) {
  const points = sweep.points.filter((point) => Object.keys(point.metrics).length);
  const designs = terrace.unique(points.map((point) => point.labels.design));
  if (designs.length < 2) return [];
  const seeds = terrace.unique(points.map((point) => point.labels.seed));
  const key = (point) => JSON.stringify(Object.entries(point.labels).filter(([label]) => label !== "design"));
  const base = new Map(points.filter((point) => point.labels.design === designs[0]).map((point) => [key(point), point]));
  // In percent; of each seed the geometric mean over its runs, as paired comparisons are made.
  const gain = (design, metric) => {
    const of_seeds = seeds.map((seed) => points.filter((point) => point.labels.design === design && point.labels.seed === seed && base.has(key(point)) && metric in point.metrics)
      .map((point) => point.metrics[metric] / base.get(key(point)).metrics[metric]).filter((x) => Number.isFinite(x) && x > 0)).filter((ratios) => ratios.length);
    if (!of_seeds.length) return null;
    const changes = of_seeds.map((ratios) => 100 * (Math.exp(terrace.mean(ratios.map(Math.log))) - 1));
    return {design, change: terrace.mean(changes), half: terrace.half_interval(changes), runs: of_seeds[0].length};
  };
  const words = [["total_ipc", "Total IPC"], ["weighted_speedup", "Weighted speedup"], ["fairness", "Fairness"]];
  return words.map(([metric, name]) => {
    const gains = designs.slice(1).map((design) => gain(design, metric)).filter((each) => each);
    if (!gains.length) return null;
    const best = gains.reduce((a, b) => b.change > a.change ? b : a);
    const about = [best.runs > 1 ? `geometric mean over ${best.runs} mixes and settings` : "", best.half > 0 ? `± ${best.half.toFixed(1)} over ${seeds.length} seeds` : ""].filter((word) => word).join(", ");
    const rest = (about ? ` (${about})` : "") + (best.half >= Math.abs(best.change) && best.half > 0 ? ", which is within noise" : "");
    return best.change > 0 ? `${name}: ${best.design} is highest, ${best.change.toFixed(1)} % above ${designs[0]}${rest}.`
      : `${name}: no design is above ${designs[0]}; the nearest is ${best.design}, ${Math.abs(best.change).toFixed(1)} % below${rest}.`;
  }).filter((sentence) => sentence);
};

terrace.pages = {};

// One paper on the first page: its verdicts, and its headline claims, printed and measured.
terrace.paper_card = function (data, sweep) {
  const el = terrace.el;
  const rows = data.board.filter((row) => row.sweep === sweep.name || (!row.sweep && row.paper === sweep.paper)), about = data.papers[sweep.paper] || {title: sweep.paper, venue: ""};
  const headlines = rows.filter((row) => row.headline);
  return el("section.card", {}, el("h3", {}, el("a", {href: sweep.page}, about.title)), el("p.soft", {}, `${about.venue} · ${terrace.sweep_name(sweep)}`),
    el("p", {}, terrace.verdict_chips(rows.filter((row) => row.check === "simulation"))), terrace.printed_bars(headlines, about.title) || "",
    el("ul.headlines", {}, headlines.map((row) => el("li", {}, el(`span.verdict.${terrace.verdict_class(row.verdict)}`, {}, row.verdict), " ", row.statement,
      row.measured ? el("small", {}, ` Printed ${row.printed}, measured ${row.measured}.`) : ""))));
};

terrace.pages.overview = async function (main, data) {
  const el = terrace.el;
  const runs = await terrace.need_runs();
  const totals = data.totals;
  const papers = data.sweeps.filter((sweep) => sweep.paper), others = data.sweeps.filter((sweep) => !sweep.paper);
  const one = data.sweeps.length === 1 && !papers.length ? data.sweeps[0] : null;
  const simulated = data.board.filter((row) => row.check === "simulation");
  main.append(el("h1", {}, one ? one.summary || one.name : data.board.length ? "Claims of the papers, and what was measured" : `Results of ${terrace.count(data.sweeps.length, "sweep")}`));
  main.append(el("p.lead", {}, one ? `What was run: ${terrace.what_was_run(one)}. ${terrace.count(runs.length, "simulation")}, runs of single tenants for comparison included.`
    : `${terrace.count(totals.jobs, "simulation")}: ${terrace.words(data.names.map(terrace.sweep_name), 12)}.`));
  main.append(el("div.numbers", {}, [
    [terrace.number(totals.jobs), "simulations"], totals.failed ? [terrace.number(totals.failed), "failed"] : null,
    [terrace.short(totals.cycles), "GPU cycles"], [terrace.short(totals.warp_instructions), "warp instructions"],
    totals.seconds ? [terrace.seconds(totals.seconds), "of simulation"] : null,
    ...(data.board.length ? [[`${simulated.filter((row) => row.verdict === "holds").length} of ${simulated.length}`, "claims hold, of those by simulation"],
      [`${simulated.filter((row) => row.verdict === "direction holds").length}`, "more in direction"]] : []),
  ].filter((pair) => pair).map(([number, word]) => el("div", {}, el("b", {}, number), el("span", {}, word)))));
  const sentences = one ? terrace.outcomes(one) : [];
  const chart = one ? terrace.designs_figure(one) : null;
  const out = sentences.length ? el("div.card", {}, el("h3", {}, "What came out"), el("ul.next", {}, sentences.map((sentence) => el("li", {}, sentence)))) : "";
  const next = el("div.card", {}, el("h3", {}, "What to try next"), terrace.next_steps(data, runs));
  if (papers.length) main.append(el("div.grid", {}, papers.map((sweep) => terrace.paper_card(data, sweep))));
  if (one) {
    main.append(el("div.grid", {}, chart || "", el("div", {}, out, next)));
    for (const table of one.tables.slice(0, 1)) main.append(terrace.result_table(table));
    main.append(el("div.grid", {}, one.plots.map(terrace.plot)));
    main.append(el("p", {}, el("a", {href: one.page}, "Everything that this sweep asked for")));
  } else {
    main.append(next);
    if (others.length) main.append(el("h2", {}, "Sweeps"), el("div.grid", {}, others.map((sweep) => {
      const figure = terrace.designs_figure(sweep) || (sweep.plots.length ? terrace.plot(sweep.plots[0]) : sweep.tables.length ? terrace.result_table(sweep.tables[0]) : "");
      return el("section.card", {}, el("h3", {}, el("a", {href: sweep.page}, sweep.summary || sweep.name)),
        el("p.soft", {}, `${sweep.name}: ${terrace.what_was_run(sweep)}.`), terrace.outcomes(sweep).slice(0, 1).map((sentence) => el("p", {}, sentence)), figure);
    })));
  }
  if (data.board.length) main.append(el("h2", {}, "The claims board"), ...terrace.board(data.board));
  main.append(el("h2", {}, "Runs"), el("div.card", {}, terrace.run_table(runs)));
};
