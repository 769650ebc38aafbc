// Tables that can be sorted by a click on a heading and filtered by words.
// SPDX-License-Identifier: MIT
"use strict";

// columns: [{title, text(row), value(row), left, node(row), tip}]; `value` sorts, `text` is shown and searched.
terrace.table = function (columns, rows, options = {}) {
  const el = terrace.el;
  const state = {by: null, down: false, most: options.most || 200};
  const body = el("tbody");
  const heads = columns.map((column, i) => el(`th.sortable${column.left ? ".left" : ""}`, {
    title: column.tip, tabindex: 0, onclick: () => sort(i), onkeydown: (event) => { if (event.key === "Enter") sort(i); }
  }, column.title));
  let shown = rows;
  const value_of = (column, row) => column.value ? column.value(row) : column.text(row);
  function sort(i) {
    state.down = state.by === i ? !state.down : !columns[i].left;
    state.by = i;
    heads.forEach((head, j) => { head.classList.toggle("down", j === i && state.down); head.classList.toggle("up", j === i && !state.down); });
    draw();
  }
  function draw() {
    const list = shown.slice();
    if (state.by !== null) {
      const column = columns[state.by];
      list.sort((a, b) => {
        const [x, y] = [value_of(column, a), value_of(column, b)];
        const order = typeof x === "number" && typeof y === "number" ? (Number.isNaN(x) ? -1 : Number.isNaN(y) ? 1 : x - y)
          : String(x).localeCompare(String(y), "en", {numeric: true});
        return state.down ? -order : order;
      });
    }
    body.replaceChildren(...list.slice(0, state.most).map((row) => el("tr", {}, columns.map((column) => {
      const cell = el(`td${column.left ? ".left" : ""}`, {}, column.node ? column.node(row) : column.text(row));
      if (column.muted && column.muted(row)) cell.classList.add("noise");
      return cell;
    }))));
    more.replaceChildren(...(list.length > state.most ? [el("button", {onclick: () => { state.most = Infinity; draw(); }},
      `Show all ${terrace.number(list.length)} rows`)] : []));
  }
  const more = el("p");
  const whole = el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, heads)), body), more);
  whole.filter = (keep) => { shown = rows.filter(keep); draw(); return shown.length; };
  draw();
  return whole;
};

// A search box and a choice for each named column, above a table.
terrace.filtered_table = function (columns, rows, choices, options = {}) {
  const el = terrace.el;
  const table = terrace.table(columns, rows, options);
  const words = el("input", {type: "search", placeholder: "Filter", "aria-label": "Filter rows by words", oninput: apply});
  const counted = el("small");
  const selects = choices.map(({title, of}) => {
    const values = terrace.unique(rows.map(of)).filter((value) => value !== "").sort();
    if (values.length < 2) return null;
    const select = el("select", {"aria-label": title, onchange: apply}, el("option", {value: ""}, `All ${title}`),
      values.map((value) => el("option", {value}, value)));
    select.keeps = (row) => select.value === "" || of(row) === select.value;
    return select;
  }).filter((select) => select);
  function apply() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter((word) => word);
    const left = table.filter((row) => selects.every((select) => select.keeps(row)) && wanted.every((word) =>
      columns.some((column) => String(column.text(row)).toLowerCase().includes(word))));
    counted.textContent = `${terrace.number(left)} of ${terrace.number(rows.length)}`;
  }
  apply();
  return el("div", {}, rows.length > 5 ? el("div.filters", {}, words, selects, counted) : "", table);
};

terrace.run_table = (runs) => terrace.filtered_table([
  {title: "run", left: true, text: (run) => run.title, node: (run) => terrace.run_link(run.id, run.title)},
  {title: "design", left: true, text: (run) => run.design},
  {title: "machine", left: true, text: (run) => run.machine},
  {title: "settings", left: true, text: (run) => run.settings},
  {title: "size", left: true, text: (run) => run.size},
  {title: "SMs", left: true, text: (run) => run.sms},
  {title: "seed", text: (run) => String(run.seed), value: (run) => run.seed},
  {title: "cycles", text: (run) => run.state === "done" ? terrace.number(run.cycles) : "failed", value: (run) => run.cycles || 0},
  {title: "total IPC", text: (run) => run.state === "done" ? terrace.number(run.ipc) : "", value: (run) => run.ipc || 0},
].filter((column) => runs.some((run) => column.text(run) !== "")), runs,
[{title: "machines", of: (run) => run.machine}, {title: "designs", of: (run) => run.alone ? "alone runs" : run.design}, {title: "sizes", of: (run) => run.size}],
{most: 50});
