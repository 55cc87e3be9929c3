// The pictures of the first screen: the forest of a pair, the ranks of many systems, and who beats whom.
(() => {
  const { state, set, said, data, cell, metricsOf, testOf, pairOf, system } = page;
  const { add, plot, clickable, colour, short, longest, tip } = pictures;
  const mean = (values) => values.reduce((x, y) => x + y, 0) / values.length;

  // a row for each metric, each on a scale of its own with 0 at the same place; B is better on the right
  const forest = (width) => {
    const rows = [];
    for (const c of metricsOf(state.testset)) {
      if (!c.place.has(state.a) || !c.place.has(state.b)) continue;
      const method = c.methods.includes(state.test) ? state.test : c.lead;
      const test = testOf(c, state.a, state.b, method);
      if (!test) continue;
      const pair = pairOf(c, state.a, state.b);
      const turn = c.higher ? 1 : -1, d = c.decimals;
      const [a, b] = [system(c, state.a), system(c, state.b)];
      const runs = [];
      if (a.n > 1) runs.push(...a.runs.map(([id, , score]) => ({ of: state.a, id, score, x: turn * (b.avg - score), side: -0.42 })));
      if (b.n > 1) runs.push(...b.runs.map(([id, , score]) => ({ of: state.b, id, score, x: turn * (score - a.avg), side: 0.42 })));
      const ends = test.low === null ? null : [turn * test.low, turn * test.high].sort((x, y) => x - y);
      const detectable = pair?.detectable ?? null;
      const reach = [turn * test.delta, ...(ends ?? []), ...runs.map((run) => run.x), ...(detectable ? [detectable, -detectable] : []), ...(pair?.margin ? [pair.margin, -pair.margin] : [])];
      const scale = Math.max(...reach.map(Math.abs), 1e-12);
      rows.push({ c, test, name: c.name, d, turn, x: turn * test.delta, ends, runs, detectable, margin: pair?.margin ?? null, won: test.won, reach, scale, method });
    }
    if (!rows.length) return null;
    const low = Math.min(-0.25, ...rows.map((row) => Math.min(...row.reach) / row.scale));
    const high = Math.max(0.25, ...rows.map((row) => Math.max(...row.reach) / row.scale));
    const wide = width > 620;
    const numbers = (row) => `${said.signed(row.test.delta, row.d)} ${said.interval(row.test.low, row.test.high, row.d)}  p ${said.p(row.test.adjusted).replace(/^(?!<)/, "= ").replace("<", "< ")}`;
    const sure = (row) => Boolean(row.won);
    const ink = (row) => (row.c.neutral ? "var(--accent)" : row.won === 1 ? "var(--good)" : row.won === -1 ? "var(--bad)" : "var(--quiet)");
    const at = (row, x) => x / row.scale;
    const tall = wide ? 66 : 84;
    const ticks = rows.flatMap((row) => Plot.ticks(low * row.scale, high * row.scale, wide ? 6 : 4).map((x) => ({ name: row.name, x: at(row, x), text: String(+(row.turn * x).toPrecision(6)) })));
    const dots = rows.flatMap((row) => row.runs.map((run) => ({ ...run, name: row.name, x: at(row, run.x), text: `${run.of} ${run.id}\n${row.name} ${said.score(run.score, row.d)}\nagainst the mean of the other: ${said.signed(row.turn * run.x, row.d)}` })));
    const node = plot({
      width, height: rows.length * tall + 26,
      marginLeft: wide ? longest(rows.map((row) => row.name), 18) + 6 : 6, marginRight: wide ? 250 : 6, marginTop: 22, marginBottom: 4,
      x: { axis: null, domain: [low * 1.04, high * 1.04] }, y: { axis: null, domain: [-1.15, 1.1] },
      fy: { axis: null, domain: rows.map((row) => row.name), padding: 0.06 },
      marks: [
        Plot.barX(rows.filter((row) => row.detectable), { fy: "name", x1: (row) => at(row, -row.detectable), x2: (row) => at(row, row.detectable), fill: "var(--band)" }),
        Plot.tickX(rows.filter((row) => row.margin).flatMap((row) => [-1, 1].map((side) => ({ name: row.name, x: at(row, side * row.margin) }))), { fy: "name", x: "x", stroke: "var(--note)", strokeDasharray: "3 3" }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.dot(dots, { fy: "name", x: "x", y: "side", r: 2.6, fill: (run) => (run.of === state.a ? colour(0) : colour(1)), fillOpacity: 0.65, title: "text", tip }),
        Plot.link(rows.filter((row) => row.ends), { fy: "name", x1: (row) => at(row, row.ends[0]), x2: (row) => at(row, row.ends[1]), y1: 0, y2: 0, stroke: ink, strokeWidth: 3 }),
        Plot.dot(rows, { fy: "name", x: (row) => at(row, row.x), y: 0, r: 6, fill: (row) => (sure(row) ? ink(row) : "var(--paper)"), stroke: ink, strokeWidth: 2.5 }),
        Plot.text(ticks, { fy: "name", x: "x", y: -0.92, text: "text", fill: "var(--quiet)", fontSize: 10 }),
        wide
          ? Plot.text(rows, { fy: "name", frameAnchor: "left", dx: -8, textAnchor: "end", text: (row) => short(row.name, 18), fontWeight: (row) => (sure(row) ? 700 : 400), fontSize: 13 })
          : Plot.text(rows, { fy: "name", frameAnchor: "top-left", dy: 2, textAnchor: "start", text: (row) => `${short(row.name, 12)}  ${numbers(row)}`, fontSize: 12 }),
        ...(wide ? [Plot.text(rows, { fy: "name", frameAnchor: "right", dx: 10, textAnchor: "start", text: numbers })] : []),
        Plot.text([{ text: `← ${short(state.a)} better`, x: 0, dx: -8, anchor: "end" }], { fy: () => rows[0].name, x: "x", text: "text", frameAnchor: "top", dy: -16, dx: -8, textAnchor: "end", fill: colour(0) }),
        Plot.text([{ text: `${short(state.b)} better →`, x: 0 }], { fy: () => rows[0].name, x: "x", text: "text", frameAnchor: "top", dy: -16, dx: 8, textAnchor: "start", fill: colour(1) }),
      ],
    });
    const some = rows.some((row) => row.runs.length);
    const turned = rows.some((row) => row.turn < 0) ? " Scales of metrics of which lower is better are turned." : "";
    return {
      node,
      caption: `${state.b} − ${state.a} on ${state.testset}: difference and interval by ${page.unique(rows.map((row) => row.method)).join(", ")}; filled is significant at ${data.alpha}.` +
        (some ? ` Dots: each run against the mean of the other system, of ${state.b} above, of ${state.a} below.` : "") +
        (rows.some((row) => row.detectable) ? " Shaded: differences that this experiment would have missed more than once in five." : "") +
        (rows.some((row) => row.margin) ? " Dashed: the margin." : "") + turned +
        (rows.some((row) => row.c.neutral) ? ` Of ${rows.filter((row) => row.c.neutral).map((row) => row.name).join(", ")} neither more nor less is better.` : ""),
      rows: rows.map((row) => ({ testset: state.testset, metric: row.name, a: state.a, b: state.b, test: row.method, delta: row.test.delta, ci_low: row.test.low, ci_high: row.test.high, p_adjusted: row.test.adjusted, detectable: row.detectable, margin: row.margin })),
    };
  };

  const ranks = (width) => {
    const c = cell(), { systems } = c, d = c.decimals;
    if (systems.length < 3) return null;
    const method = Object.keys(systems.find((one) => Object.keys(one.ci).length)?.ci ?? {}).sort((x, y) => ["clark", "riezler", "fu"].indexOf(x) - ["clark", "riezler", "fu"].indexOf(y))[0];
    const rows = systems.map((one, i) => ({ ...one, y: one.name, ends: one.ci[method] ?? null, place: i }));
    const clustered = rows.some((row) => row.cluster);
    const dots = rows.flatMap((row) => (row.n > 1 ? row.runs.map(([id, , score]) => ({ y: row.y, x: score, text: `${row.name} ${id}\n${c.name} ${said.score(score, d)}` })) : []));
    const left = longest(rows.map((row) => row.name));
    const right = width > 520 ? 140 : 84;
    const words = (row) => said.score(row.avg, d) + (width > 520 && row.test !== null ? ` ± ${said.score(row.test, d)}` : "") + (row.ranks ? `  #${said.ranks(row.ranks)}` : "");
    const chosen = rows.filter((row) => row.name === state.a || row.name === state.b);
    const node = plot({
      width, height: rows.length * (rows.length > 25 ? 17 : rows.length > 14 ? 20 : 26) + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 34,
      y: { domain: rows.map((row) => row.y), label: null, tickFormat: (name) => short(name), tickSize: 0 },
      x: { label: `${c.name}${c.neutral || c.higher ? "" : " (lower is better)"}`, labelAnchor: "center", labelArrow: "none", grid: true, reverse: !c.higher, nice: true, ticks: width > 520 ? 6 : 3 },
      marks: [
        Plot.cell(clustered ? rows : [], { y: "y", fill: (row) => (row.cluster % 2 ? "var(--band)" : "transparent"), inset: 0 }),
        Plot.link(rows.filter((row) => row.ends), { x1: (row) => row.ends[0], x2: (row) => row.ends[1], y1: "y", y2: "y", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.dot(dots, { x: "x", y: "y", r: 2, fill: "var(--ink)", fillOpacity: 0.4, title: "text", tip }),
        Plot.dot(rows, { x: "avg", y: "y", r: 4.5, fill: "var(--accent)", ariaLabel: "system" }),
        Plot.dot(chosen, { x: "avg", y: "y", r: 7.5, stroke: (row) => (row.name === state.a ? colour(0) : colour(1)), strokeWidth: 2 }),
        Plot.text(rows, { y: "y", frameAnchor: "right", dx: right - 2, textAnchor: "end", text: words }),
      ],
    });
    clickable(node, "dot", rows, (row) => { if (row.name !== state.a && row.name !== state.b) set({ b: row.name }); });
    return {
      node,
      caption: `${c.name} on ${c.testset}, ${c.neutral ? "most" : "best"} first` + (method ? `, with ${method === "fu" ? "test-set" : method} intervals` : "") +
        (dots.length ? "; small dots are runs" : "") + "." +
        (clustered ? ` Bands are clusters: each system beats all of the clusters below (${c.lead}). #: ranks that a system may have, all together with confidence ${said.percent(1 - data.alpha)}.` : ""),
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, system: row.name, n: row.n, score: row.avg, s_sel: row.sel, s_test: row.test, ci_low: row.ends?.[0] ?? null, ci_high: row.ends?.[1] ?? null, cluster: row.cluster, rank_best: row.ranks?.[0] ?? null, rank_worst: row.ranks?.[1] ?? null, people_best: row.people?.[0] ?? null, people_worst: row.people?.[1] ?? null })),
    };
  };

  const matrix = (width) => {
    const c = cell(), names = c.systems.map((one) => one.name);
    if (names.length < 3 || !c.tests.length || c.neutral) return null;
    const rows = [];
    for (const a of names) {
      for (const b of names) {
        const test = a === b ? null : testOf(c, a, b, state.test);
        if (!test) continue;
        const { won } = test;
        const verb = won === 1 ? "beats" : won === -1 ? "is beaten by" : won === 0 ? "undecided with" : "has no p with";
        rows.push({ a, b, won, test, text: `${b} ${verb} ${a}\n${said.signed(test.delta, c.decimals)} ${said.interval(test.low, test.high, c.decimals)}\np = ${said.p(test.adjusted)}` });
      }
    }
    if (!rows.length) return null;
    const left = longest(names, 14), size = Math.min((width - left - 6) / names.length, 46), small = size < 30;
    const long = Math.max(...names.map((name) => Math.min(name.length, 14)));
    const node = plot({
      style: { ...pictures.STYLE, fontSize: size < 14 ? "9px" : "12px" },
      width: left + 6 + size * names.length, height: size * names.length + 14 + 5.2 * long, marginLeft: left, marginTop: 14 + 5.2 * long, marginRight: 6, marginBottom: 0,
      x: { domain: names, axis: "top", label: null, tickFormat: (name) => short(name, 14), tickRotate: -60, tickSize: 0, padding: 0.04 },
      y: { domain: names, label: null, tickFormat: (name) => short(name, 14), tickSize: 0, padding: 0.04 },
      marks: [
        Plot.cell(rows, { x: "a", y: "b", fill: (row) => (row.won === 1 ? "var(--won)" : row.won === -1 ? "var(--lost)" : "var(--soft)"), title: "text", tip }),
        Plot.text(small ? [] : rows, { x: "a", y: "b", text: (row) => said.p(row.test.adjusted), fontSize: size < 40 ? 9 : 10.5, fontWeight: (row) => (row.won ? 700 : 400), pointerEvents: "none" }),
        Plot.cell(rows.filter((row) => row.a === state.a && row.b === state.b), { x: "a", y: "b", fill: "none", stroke: "var(--ink)", strokeWidth: 2.5, pointerEvents: "none" }),
      ],
    });
    clickable(node, "cell", rows, (row) => set({ a: row.a, b: row.b }));
    return {
      node,
      caption: `Who beats whom by ${c.name} on ${c.testset} (${state.test}): green where the row's system beats the column's, orange where it is beaten, at ${data.alpha}` +
        (small ? "" : "; adjusted p") + ". A click chooses the pair for the whole page; so do the boxes A and B.",
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, test: state.test, a: row.a, b: row.b, delta: row.test.delta, p_adjusted: row.test.adjusted })),
    };
  };

  let known = null;
  const sentences = () => {
    if (document.readyState === "loading") return new Map();
    known ??= new Map([...document.querySelectorAll("#tables .verdicts li")].map((item) => [item.dataset.of, item]));
    return known;
  };
  // the sentence of the chosen pair, and rows of the table for the chosen test set
  const tell = () => {
    const c = cell(), pair = pairOf(c, state.a, state.b);
    const holder = document.getElementById("said");
    // the sentence of the pair, where the page has it among all verdicts
    const names = pair ? [c.testset, c.name, c.systems[pair.a].name, c.systems[pair.b].name] : [];
    const item = pair && sentences().get(JSON.stringify(names));
    const test = pair && testOf(c, state.a, state.b, c.lead);
    let text = c.systems.length > 1 ? `${state.b} − ${state.a}: not tested by ${c.name}.` : "";
    if (item) text = `${c.name}: ${item.querySelector(".sentence").textContent}`;
    else if (test) text = `${c.name}: ${state.b} − ${state.a} ${said.signed(test.delta, c.decimals)} ${said.interval(test.low, test.high, c.decimals)}, p ${said.p(test.adjusted)} (${c.lead}).`;
    holder.replaceChildren(text);
    const table = document.getElementById("table-overview");
    const several = page.unique(data.cells.map((one) => one.testset)).length > 1;
    table.classList.add("switched");
    if (several) for (const row of table.tBodies[0].rows) row.hidden = row.cells[0].textContent !== state.testset;
    for (const line of document.querySelectorAll(".headline")) {
      if (line.dataset.testset === state.testset) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  };
  for (const line of document.querySelectorAll(".headline button")) {
    line.addEventListener("click", () => set({ testset: line.closest(".headline").dataset.testset }));
  }
  add("ranks", ranks, ["testset", "metric", "a", "b"]);
  add("matrix", matrix, ["testset", "metric", "test", "a", "b"]);
  add("forest", forest, ["testset", "test", "a", "b"]);
  tell();
  page.on(tell);
  document.addEventListener("DOMContentLoaded", tell);
  performance.mark("first-picture");
})();
