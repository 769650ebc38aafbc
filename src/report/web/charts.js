// Charts by Chart.js in the colours of the page, with intervals, a line for "no difference" and marks for decisions.
// SPDX-License-Identifier: MIT
"use strict";

// Told apart by most kinds of colour blindness; a lighter set on dark ground.
terrace.colours = {
  light: ["#2f6fb3", "#e07a2f", "#2f9468", "#b23a78", "#7a5fc0", "#b8960c", "#2b98ab", "#7d7f86", "#d1495b", "#557a2b"],
  dark: ["#6aaef0", "#f2a15f", "#5cc795", "#e67fb4", "#a993ee", "#dfc24a", "#5ec8da", "#a7abb3", "#f28b98", "#9fc56b"],
};
terrace.colour = function (i) {
  const set = terrace.colours[document.documentElement.dataset.theme] || terrace.colours.light;
  return set[i % set.length];
};
const pale = (colour) => colour + "55";

Chart.register({
  id: "terrace",
  beforeDatasetsDraw(chart) {
    const options = chart.options.plugins.terrace || {};
    const {ctx, chartArea: area, scales} = chart;
    const line = (from, to, colour) => {
      ctx.save();
      ctx.strokeStyle = colour;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      ctx.moveTo(...from);
      ctx.lineTo(...to);
      ctx.stroke();
      ctx.restore();
    };
    if (Number.isFinite(options.neutral)) {
      const y = scales.y.getPixelForValue(options.neutral);
      line([area.left, y], [area.right, y], terrace.theme.colour("soft"));
    }
    for (const at of options.marks || []) {
      const x = scales.x.getPixelForValue(at);
      if (x >= area.left && x <= area.right) line([x, area.top], [x, area.bottom], terrace.theme.colour("none"));
    }
    if (options.diagonal) {
      const low = Math.max(scales.x.min, scales.y.min), high = Math.min(scales.x.max, scales.y.max);
      if (low < high) line([scales.x.getPixelForValue(low), scales.y.getPixelForValue(low)],
        [scales.x.getPixelForValue(high), scales.y.getPixelForValue(high)], terrace.theme.colour("soft"));
    }
  },
  // The interval of a point: a line with a cap at either end.
  afterDatasetsDraw(chart) {
    const {ctx, scales} = chart;
    // What is printed: a line across the bar, with a rim that shows on any colour.
    chart.data.datasets.forEach((dataset, i) => {
      if (!dataset.printed || !chart.isDatasetVisible(i)) return;
      chart.getDatasetMeta(i).data.forEach((element, j) => {
        const value = dataset.printed[j];
        if (value === null || !Number.isFinite(value)) return;
        const y = scales.y.getPixelForValue(value), half = Math.max(7, (element.width || 14) / 2 + 2);
        ctx.save();
        for (const [colour, width, more] of [[terrace.theme.colour("panel"), 5, 1], [terrace.theme.colour("ink"), 2.5, 0]]) {
          ctx.strokeStyle = colour;
          ctx.lineWidth = width;
          ctx.beginPath();
          ctx.moveTo(element.x - half - more, y);
          ctx.lineTo(element.x + half + more, y);
          ctx.stroke();
        }
        ctx.restore();
      });
    });
    chart.data.datasets.forEach((dataset, i) => {
      if (!dataset.half || !chart.isDatasetVisible(i)) return;
      chart.getDatasetMeta(i).data.forEach((element, j) => {
        const half = dataset.half[j];
        if (!(half > 0) || !Number.isFinite(element.y)) return;
        const long = Math.abs(scales.y.getPixelForValue(half) - scales.y.getPixelForValue(0));
        const top = element.y - long, bottom = element.y + long;
        ctx.save();
        ctx.strokeStyle = terrace.theme.colour("ink");
        ctx.lineWidth = 1;
        ctx.beginPath();
        for (const y of [top, bottom]) { ctx.moveTo(element.x - 3, y); ctx.lineTo(element.x + 3, y); }
        ctx.moveTo(element.x, top);
        ctx.lineTo(element.x, bottom);
        ctx.stroke();
        ctx.restore();
      });
    });
  },
});

// spec: {kind: "bar" | "stack" | "line" | "area" | "scatter", labels (bars), series: [{name, values | points, half, muted,
// hidden, printed (a number or null for each value)}], x_title, y_title, neutral, marks, diagonal, tip(series, index, value), low, legend, percent}
terrace.chart = function (spec) {
  const el = terrace.el;
  const bars = spec.kind === "bar" || spec.kind === "stack";
  const stacked = spec.kind === "stack" || spec.kind === "area";
  const bar_count = bars ? spec.labels.length * (spec.kind === "stack" ? 1 : spec.series.length) : 0;
  const canvas = el("canvas", {role: "img", "aria-label": spec.title || spec.y_title || "chart"});
  const plot = el(`div.plot${spec.low ? ".low" : ""}`, {}, canvas);
  // Bars need a few pixels each; the rest is reached by scrolling.
  if (bar_count > 90) plot.style.minWidth = `${bar_count * 9 + spec.labels.length * 6}px`;
  // Where intervals end: the axis has room for them.
  const ends = spec.series.flatMap((series) => !series.half || series.hidden ? [] : series.half.flatMap((half, j) => {
    const point = (series.points || series.values)[j], y = point !== null && typeof point === "object" ? point.y : point;
    return half > 0 && Number.isFinite(y) ? [y - half, y + half] : [];
  })).concat(spec.series.flatMap((series) => (series.printed || []).filter((value) => value !== null)));
  let chart = null;
  function draw() {
    if (chart) chart.destroy();
    const soft = terrace.theme.colour("soft"), grid = terrace.theme.colour("line");
    const datasets = spec.series.map((series, i) => {
      const colour = terrace.colour(series.colour ?? i);
      const muted = series.muted || [];
      const own = {
        label: series.name, data: series.points || series.values, half: series.half, printed: series.printed, hidden: series.hidden,
        borderColor: colour, backgroundColor: colour,
      };
      if (bars) {
        own.backgroundColor = series.values.map((_, j) => muted[j] ? pale(colour) : colour);
        own.borderWidth = 0;
        own.borderRadius = spec.kind === "stack" ? 0 : 2;
        own.categoryPercentage = 0.84;
        own.barPercentage = spec.kind === "stack" ? 0.8 : 0.94;
        own.maxBarThickness = 56;
      } else if (spec.kind === "scatter") {
        own.pointRadius = 5;
        own.pointHoverRadius = 7;
      } else {
        const count = (series.points || series.values).length;
        own.borderWidth = spec.kind === "area" ? 1 : 1.8;
        own.pointRadius = count > 60 ? 0 : 2.5;
        own.pointHitRadius = 8;
        own.pointBackgroundColor = (series.points || series.values).map((_, j) => muted[j] ? terrace.theme.colour("panel") : colour);
        own.fill = spec.kind === "area" ? (i === 0 ? "origin" : "-1") : false;
        if (spec.kind === "area") own.backgroundColor = colour + "99";
        own.borderDash = series.dashed ? [6, 4] : [];
      }
      return own;
    });
    const value_text = (y) => spec.percent ? terrace.percent(y) : terrace.number(y);
    const numeric = !bars;
    chart = new Chart(canvas, {
      type: bars ? "bar" : spec.kind === "scatter" ? "scatter" : "line",
      data: {labels: spec.labels, datasets},
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
        interaction: spec.kind === "scatter" ? {mode: "nearest", intersect: true} : {mode: "index", intersect: false},
        plugins: {
          legend: {display: spec.legend !== false && spec.series.length > 1, position: "bottom", labels: {color: soft, boxWidth: 12, boxHeight: 12,
            // The first bar may be pale; its series is not.
            generateLabels: (of) => Chart.defaults.plugins.legend.labels.generateLabels(of).map((label) => ({...label, fillStyle: label.strokeStyle}))}},
          tooltip: {
            callbacks: {
              title: (items) => !items.length ? "" : numeric && spec.kind !== "scatter" && !spec.labels ? `${spec.x_title || "x"} ${terrace.number(items[0].parsed.x)}` : items[0].label || "",
              label: (item) => {
                const half = item.dataset.half && item.dataset.half[item.dataIndex];
                if (spec.tip) return spec.tip(item.dataset.label, item.dataIndex, item.parsed);
                const printed = item.dataset.printed && item.dataset.printed[item.dataIndex];
                return `${item.dataset.label || spec.y_title || ""}: ${value_text(item.parsed.y)}${half > 0 ? ` ± ${terrace.number(half)}` : ""}${printed !== null && printed !== undefined ? `, printed ${terrace.number(printed)}` : ""}`;
              },
            },
          },
          terrace: {neutral: spec.neutral ?? undefined, marks: spec.marks, diagonal: spec.diagonal},
        },
        scales: {
          x: {
            type: numeric && !spec.labels ? "linear" : "category", stacked: stacked && bars, min: spec.x_min, max: spec.x_max,
            title: {display: Boolean(spec.x_title), text: spec.x_title, color: soft},
            ticks: {color: soft, autoSkip: numeric, maxRotation: 60, ...(numeric && !spec.labels ? {callback: (x) => terrace.short(x)} : {})},
            grid: {display: numeric, color: grid, drawBorder: false},
          },
          y: {
            stacked, beginAtZero: spec.zero !== false, suggestedMin: ends.length && !stacked ? Math.min(...ends) : undefined, suggestedMax: ends.length && !stacked ? Math.max(...ends) : undefined, min: spec.y_min, max: spec.y_max,
            title: {display: Boolean(spec.y_title), text: spec.y_title, color: soft},
            ticks: {color: soft, callback: (y) => spec.percent ? `${Math.round(1000 * y) / 10} %` : Math.abs(y) >= 10000 ? terrace.short(y) : terrace.number(y)},
            grid: {color: grid, drawBorder: false},
          },
        },
      },
    });
    // For tests, and for whoever looks at the page's elements.
    canvas.dataset.points = terrace.sum(spec.series.map((series) => (series.points || series.values).filter((point) =>
      Number.isFinite(point !== null && typeof point === "object" ? point.y : point)).length));
  }
  // Chart.js needs the element to be in the page.
  plot.draw = draw;
  terrace.waiting.push(draw);
  terrace.theme.redraw.push(() => { if (canvas.isConnected) draw(); });
  return bar_count > 90 ? el("div.wide", {}, plot) : plot;
};

// Bars from one moment to another, in rows. spec: {title, rows: [name], x_title, series: [{name, colour, spans: [{row, from, to, tip}], pale: every
// other one}]}
terrace.span_chart = function (spec) {
  const el = terrace.el;
  const canvas = el("canvas", {role: "img", "aria-label": spec.title});
  const plot = el("div.plot", {}, canvas);
  const named = spec.series.length < 13;
  plot.style.height = `${5 + 2.2 * spec.rows.length + (named ? 2 : 0)}rem`;
  let chart = null;
  function draw() {
    if (chart) chart.destroy();
    const soft = terrace.theme.colour("soft"), grid = terrace.theme.colour("line");
    chart = new Chart(canvas, {
      type: "bar",
      data: {labels: spec.rows, datasets: spec.series.map((series, i) => {
        const colour = terrace.colour(series.colour ?? i);
        return {label: series.name, data: series.spans.map((span) => ({x: [span.from, span.to], y: spec.rows[span.row]})), grouped: false, borderColor: colour,
          backgroundColor: series.spans.map((_, j) => series.pale && j % 2 ? pale(colour) : colour + "cc"), borderWidth: 0, minBarLength: 1, barPercentage: 0.85, categoryPercentage: 0.9};
      })},
      options: {
        indexAxis: "y", animation: false, responsive: true, maintainAspectRatio: false, interaction: {mode: "nearest", intersect: true},
        plugins: {
          legend: {display: named, position: "bottom", labels: {color: soft, boxWidth: 12, boxHeight: 12,
            generateLabels: (of) => Chart.defaults.plugins.legend.labels.generateLabels(of).map((label) => ({...label, fillStyle: label.strokeStyle}))}},
          tooltip: {callbacks: {title: () => "", label: (item) => spec.series[item.datasetIndex].spans[item.dataIndex].tip}},
        },
        scales: {
          x: {type: "linear", min: 0, max: spec.x_max, title: {display: Boolean(spec.x_title), text: spec.x_title, color: soft}, ticks: {color: soft, callback: (x) => terrace.short(x)}, grid: {color: grid, drawBorder: false}},
          y: {ticks: {color: soft, autoSkip: false}, grid: {display: false, drawBorder: false}},
        },
      },
    });
    canvas.dataset.points = terrace.sum(spec.series.map((series) => series.spans.length));
  }
  plot.draw = draw;
  terrace.waiting.push(draw);
  terrace.theme.redraw.push(() => { if (canvas.isConnected) draw(); });
  return plot;
};
terrace.waiting = [];
terrace.draw_waiting = () => { for (const draw of terrace.waiting.splice(0)) draw(); };

terrace.figure = (title, ...parts) => terrace.el("figure.card", {}, title ? terrace.el("h3", {}, title) : "", ...parts);
