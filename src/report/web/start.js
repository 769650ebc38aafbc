// Every page begins here. The state that is left on the document says whether all went well: for tests.
// SPDX-License-Identifier: MIT
"use strict";

terrace.fail = function (error) {
  document.documentElement.dataset.state = "failed";
  document.querySelector("main").append(terrace.el("div.card", {}, terrace.el("p.problem", {}, String(error.message || error))));
  console.error(error);
};

terrace.show = async function (data) {
  const main = document.querySelector("main");
  main.replaceChildren();
  terrace.theme.redraw = [];
  try {
    await terrace.pages[document.body.dataset.page](main, data);
    main.append(terrace.el("footer", {}, `Terrace ${data.about.version}, revision ${data.about.revision}; from ${data.about.store}. `,
      "The same numbers for other programs: results.json and the CSV files beside this page."));
    terrace.draw_waiting();
    document.documentElement.dataset.state = "ready";
    document.documentElement.dataset.milliseconds = Math.round(performance.now());
  } catch (error) {
    terrace.fail(error);
  }
};

terrace.start = function (data) {
  const el = terrace.el;
  terrace.theme.apply();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const page = document.body.dataset.page;
  const own = data.sweep ? data.sweep.name : "";
  const many = data.names.length > 8;
  const here = (entry) => entry.name === own;
  document.body.append(el("header.top", {}, el("a.brand", {href: "index.html"}, "Terrace"),
    el("nav", {}, el(page === "overview" ? "a.here" : "a", {href: "index.html"}, "Overview"),
      many ? el("select", {"aria-label": "sweep", onchange: (event) => { if (event.target.value) location.href = event.target.value; }},
        el("option", {value: ""}, "Sweeps …"), data.names.map((entry) => el("option", {value: entry.page, selected: here(entry) ? "" : null}, terrace.sweep_name(entry))))
        : data.names.map((entry) => el(here(entry) ? "a.here" : "a", {href: entry.page}, terrace.sweep_name(entry))),
      el(page === "run" ? "a.here" : "a", {href: "run.html"}, "Runs"), el(page === "compare" ? "a.here" : "a", {href: "compare.html"}, "Compare")),
    el("button", {onclick: () => terrace.theme.toggle(), "aria-label": "light or dark"}, "◐")), el("main"));
  if (page === "run" || page === "compare") addEventListener("hashchange", () => { scrollTo(0, 0); terrace.show(data); });
  terrace.show(data);
};
