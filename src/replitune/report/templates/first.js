// The pictures of the first screen: every system against the best or the baseline, or two systems by
// every metric; who beats whom. Sizes, intervals, states and words are those of the answers.
(() => {
  const { state, set, said, data, cell, metricsOf, testOf, pairOf, system } = page;
  const { add, plot, clickable, colour, short, longest, tip, elided } = pictures;
  const INK = { blue: "var(--good)", amber: "var(--amber)", grey: "var(--quiet)" };
  const ink = (row) => (row.told && row.told.surely && row.told.tone === "blue" ? (row.x >= 0 ? "var(--good)" : "var(--bad)") : INK[row.told?.tone ?? "grey"]);
  const glyph = (row) => (row.told?.surely ? "triangle" : "circle");
  // what is told of B against A, better to the right
  const toldOf = (c, a, b) => {
    const pair = pairOf(c, a, b);
    if (!pair) return null;
    const side = pair.told.side * (c.place.get(b) === pair.b ? 1 : -1);
    const { size, low, high } = pair.told;
    const ends = low === null ? null : side < 0 ? [-high, -low] : [low, high];
    return { ...pair.told, x: side * size, ends, margin: pair.margin, detectable: pair.detectable };
  };
  const dotText = (c, name, id, score, odd) => `${name} ${id}: ${c.name} ${said.score(score, c.decimals)}${odd ? "\nfar from the other runs of its system" : ""}`;

  // marks that both pictures share: intervals, sizes, runs, odd runs with a ring and their name
  const marks = (rows, dots, facet) => {
    const y = facet ? { fy: "y", y: "side" } : { y: "y", dy: -8 }, odd = dots.filter((dot) => dot.odd);
    const single = (row) => row.told.state === "these-outputs", known = rows.filter((row) => row.ends);
    const interval = (some, dashes) => Plot.link(some, { ...(facet ? { fy: "y", y1: 0, y2: 0 } : { y1: "y", y2: "y" }), x1: (row) => row.ends[0], x2: (row) => row.ends[1], stroke: ink, strokeWidth: 3, strokeDasharray: dashes });
    const named = (some, dy) => Plot.text(some, { ...y, x: "x", text: "id", dy: dy - (facet ? 0 : 8), fontSize: 11, fill: "var(--note)", stroke: "var(--paper)", strokeWidth: 3 });
    return [
      Plot.dot(dots, { ...y, x: "x", r: 2.6, fill: "fill", fillOpacity: 0.65, title: "text", tip }),
      Plot.dot(odd, { ...y, x: "x", r: 6, stroke: "var(--amber)", strokeWidth: 2 }),
      interval(known.filter((row) => !single(row)), null),
      interval(known.filter(single), "3 4"),
      Plot.dot(rows.filter((row) => row.told), { ...(facet ? { fy: "y", y: () => 0 } : { y: "y" }), x: "x", r: 6, symbol: glyph, rotate: (row) => (facet ? (row.x < 0 ? -90 : 90) : row.x < 0 ? 180 : 0), fill: (row) => (row.told.surely ? ink(row) : "var(--paper)"), stroke: ink, strokeWidth: 2.2, ariaLabel: "system" }),
      named(odd.filter((dot) => !(dot.side < 0)), -11),
      named(odd.filter((dot) => dot.side < 0), 12),
    ];
  };

  // ---- two systems: a row for each metric on a scale of its own, 0 at one place, B better on the right
  const forest = (width) => {
    const rows = [];
    for (const c of metricsOf(state.testset)) {
      if (!c.place.has(state.a) || !c.place.has(state.b)) continue;
      const told = toldOf(c, state.a, state.b);
      if (!told) continue;
      const turn = c.higher ? 1 : -1;
      const [a, b] = [system(c, state.a), system(c, state.b)];
      const runs = [];
      if (a.n > 1) runs.push(...a.runs.map(([id, , score]) => ({ id, x: turn * (b.avg - score), side: -0.42, fill: colour(0), odd: a.odd.includes(id), text: dotText(c, state.a, id, score, a.odd.includes(id)) })));
      if (b.n > 1) runs.push(...b.runs.map(([id, , score]) => ({ id, x: turn * (score - a.avg), side: 0.42, fill: colour(1), odd: b.odd.includes(id), text: dotText(c, state.b, id, score, b.odd.includes(id)) })));
      const reach = [told.x, ...(told.ends ?? []), ...runs.map((run) => run.x), ...(told.detectable ? [told.detectable, -told.detectable] : []), ...(told.margin ? [told.margin, -told.margin] : [])];
      const scale = Math.max(...reach.map(Math.abs), 1e-12);
      rows.push({ c, told, y: c.name, runs, scale, low: Math.min(...reach) / scale, high: Math.max(...reach) / scale,
        x: told.x / scale, ends: told.ends?.map((x) => x / scale) ?? null });
    }
    if (!rows.length) return null;
    const low = Math.min(-0.25, ...rows.map((row) => row.low)), high = Math.max(0.25, ...rows.map((row) => row.high));
    const wide = width > 620, [nameA, nameB] = elided([state.a, state.b], wide ? 24 : 16);
    const texts = Math.max(...rows.map((row) => row.told.text.length)), right = wide ? Math.min(6.7 * texts + 14, width * 0.42) : 6;
    const lines = (row) => (wide && 6.7 * row.told.text.length > right ? row.told.text.replace(" (", "\n(") : row.told.text);
    const ticks = rows.flatMap((row) => Plot.ticks(low * row.scale, high * row.scale, wide ? 6 : 4).map((x) => ({ y: row.y, x: x / row.scale, text: said.tick(Math.abs(x)) })));
    const dots = rows.flatMap((row) => row.runs.map((run) => ({ ...run, y: row.y, x: run.x / row.scale })));
    const node = plot({
      width, height: rows.length * (wide ? 66 : 96) + 26,
      marginLeft: wide ? longest(rows.map((row) => row.y), 18) + 6 : 6, marginRight: right, marginTop: 22, marginBottom: 4,
      x: { axis: null, domain: [low * 1.04, high * 1.04] }, y: { axis: null, domain: [-1.15, 1.1] },
      fy: { axis: null, domain: rows.map((row) => row.y), padding: wide ? 0.06 : 0.16 },
      marks: [
        Plot.barX(rows.filter((row) => row.told.detectable), { fy: "y", x1: (row) => -row.told.detectable / row.scale, x2: (row) => row.told.detectable / row.scale, fill: "var(--band)" }),
        Plot.tickX(rows.filter((row) => row.told.margin).flatMap((row) => [-1, 1].map((side) => ({ y: row.y, x: (side * row.told.margin) / row.scale }))), { fy: "y", x: "x", stroke: "var(--note)", strokeDasharray: "3 3" }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        ...marks(rows, dots, true),
        Plot.text(ticks, { fy: "y", x: "x", y: -1.02, text: "text", fill: "var(--quiet)", fontSize: 11, stroke: "var(--paper)", strokeWidth: 4 }),
        wide
          ? Plot.text(rows, { fy: "y", frameAnchor: "left", dx: -8, textAnchor: "end", text: (row) => short(row.y, 18), fontWeight: 700, fontSize: 13 })
          : Plot.text(rows, { fy: "y", frameAnchor: "top-left", dy: -8, textAnchor: "start", text: (row) => `${short(row.y, 14)}: ${row.told.text}`, fontSize: 12 }),
        ...(wide ? [Plot.text(rows, { fy: "y", frameAnchor: "right", dx: 10, textAnchor: "start", text: lines })] : []),
        Plot.text([{ x: 0 }], { fy: () => rows[0].y, x: "x", text: () => `← ${nameA} better`, frameAnchor: "top", dy: wide ? -16 : -22, dx: -8, textAnchor: "end", fill: "var(--c1)" }),
        Plot.text([{ x: 0 }], { fy: () => rows[0].y, x: "x", text: () => `${nameB} better →`, frameAnchor: "top", dy: wide ? -16 : -22, dx: 8, textAnchor: "start", fill: "var(--c2)" }),
      ],
    });
    return {
      node,
      caption: `How far ${state.b} and ${state.a} are apart on ${state.testset}, with ${page.unique(rows.map((row) => row.told.interval)).filter(Boolean).join(", ") || "no interval"} by ${page.unique(rows.map((row) => row.c.lead)).join(", ")}; filled: ${data.sure}.` +
        (dots.length ? ` Dots: runs of ${state.b} (above) and of ${state.a} (below), each against the mean of the other.` : "") +
        (dots.some((dot) => dot.odd) ? " Ringed: far from the other runs of its system." : "") +
        (rows.some((row) => row.told.detectable) ? " Shaded: differences that this experiment would have missed more than once in five." : "") +
        (rows.some((row) => row.told.margin) ? " Dashed: the margin." : "") +
        (rows.some((row) => row.c.neutral) ? ` Of ${rows.filter((row) => row.c.neutral).map((row) => row.y).join(", ")} neither more nor less is better.` : ""),
      rows: rows.map((row) => ({ testset: state.testset, metric: row.y, a: state.a, b: state.b, test: row.c.lead, better_by: row.told.x, low: row.told.ends?.[0] ?? null, high: row.told.ends?.[1] ?? null, state: row.told.state, detectable: row.told.detectable, margin: row.told.margin })),
    };
  };

  // ---- three systems and more: each against the best, or the baseline
  const against = (width) => {
    const c = cell(), { systems, anchor } = c, d = c.decimals;
    if (systems.length < 3) return null;
    const turn = c.higher || c.neutral ? 1 : -1, base = system(c, anchor).avg;
    const rows = systems.map((one) => {
      const told = one.name === anchor ? null : toldOf(c, anchor, one.name);
      return { ...one, y: one.name, told, x: told ? told.x : turn * (one.avg - base), ends: told?.ends ?? null };
    });
    const dots = rows.flatMap((row) => (row.n > 1 ? row.runs.map(([id, , score]) => ({ y: row.y, id, x: turn * (score - base), odd: row.odd.includes(id), fill: row.y === state.a ? colour(0) : row.y === state.b ? colour(1) : "var(--quiet)", text: dotText(c, row.name, id, score, row.odd.includes(id)) })) : []));
    const wide = width > 620, names = elided(rows.map((row) => row.y), wide ? 26 : 14), shown = new Map(rows.map((row, i) => [row.y, names[i]]));
    const left = longest(names, 26);
    const words = (row) => (row.y === anchor ? `${said.score(row.avg, d)} ${c.name}` : row.told ? (wide ? row.told.text : row.told.text.replace(/^.* by /, row.x < 0 ? "−" : "+").replace(/ \(.*/, "")) : "not tested");
    const right = wide ? Math.min(6.6 * Math.max(...rows.map((row) => words(row).length)) + 12, width * 0.44) : 64;
    const best = anchor === systems[0].name;
    const node = plot({
      width, height: rows.length * (rows.length > 25 ? 17 : rows.length > 14 ? 21 : 28) + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 36,
     
      y: { domain: rows.map((row) => row.y), label: null, tickFormat: (name) => shown.get(name), tickSize: 0 },
      x: { label: `${c.name} ${c.neutral ? "more than" : "better than"} ${short(anchor, 26)} →`, labelAnchor: "center", labelArrow: "none", grid: true, nice: true, ticks: wide ? 6 : 3, tickFormat: said.tick },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        ...marks(rows, dots, false),
        Plot.dot(rows.filter((row) => row.y === anchor), { x: "x", y: "y", r: 5, fill: "var(--ink)" }),
        Plot.text(rows, { y: "y", frameAnchor: "right", dx: right - 2, textAnchor: "end", text: words, fontWeight: (row) => (row.told?.surely ? 700 : 400) }),
      ],
    });
    clickable(node, "dot", rows, (row) => { if (row.name !== state.a && row.name !== state.b) set({ b: row.name }); });
    const intervals = page.unique(rows.map((row) => row.told?.interval)).filter(Boolean);
    return {
      node,
      caption: `Every system against ${anchor}${best ? ", which has the best mean" : ", the baseline"}, by ${c.name} on ${c.testset}: the difference with its ${intervals.join(", ") || "no interval"} by ${c.lead}; filled: ${data.sure}` +
        (dots.length ? "; small dots are runs" : "") + (dots.some((dot) => dot.odd) ? ", ringed where far from the others of the system" : "") + "." +
        (rows.some((row) => row.told?.state === "these-outputs") ? " Dashed: single outputs, which say nothing of other runs." : ""),
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, system: row.name, n: row.n, score: row.avg, s_sel: row.sel, s_test: row.test, against: anchor, better_by: row.told ? row.x : null, low: row.ends?.[0] ?? null, high: row.ends?.[1] ?? null, state: row.told?.state ?? null, cluster: row.cluster, rank_best: row.ranks?.[0] ?? null, rank_worst: row.ranks?.[1] ?? null, people_best: row.people?.[0] ?? null, people_worst: row.people?.[1] ?? null })),
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
        Plot.text(small ? rows.filter((row) => row.won) : rows, { x: "a", y: "b", text: (row) => small ? (row.won === 1 ? "▲" : "▽") : `${row.won === 1 ? "▲" : row.won === -1 ? "▽" : ""}${said.p(row.test.adjusted)}`, fontSize: size < 40 ? 10 : 11, fontWeight: (row) => (row.won ? 700 : 400), pointerEvents: "none" }),
        Plot.cell(rows.filter((row) => row.a === state.a && row.b === state.b), { x: "a", y: "b", fill: "none", stroke: "var(--ink)", strokeWidth: 2.5, pointerEvents: "none" }),
      ],
    });
    clickable(node, "cell", rows, (row) => set({ a: row.a, b: row.b }));
    return {
      node,
      caption: `Who beats whom by ${c.name} on ${c.testset} (${state.test}): blue and ▲ where the row's system beats the column's, orange and ▽ where it is beaten, at ${data.alpha}` +
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
    const names = pair ? [c.testset, c.metric, c.systems[pair.a].name, c.systems[pair.b].name] : [];
    const item = pair && sentences().get(JSON.stringify(names));
    let text = c.systems.length > 1 ? `${state.b} and ${state.a}: not tested by ${c.name}.` : "";
    if (item) text = item.querySelector(".sentence").textContent;
    else if (pair) text = `${c.name}: ${pair.told.text}.`;
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
  add("against", against, ["testset", "metric", "a", "b"]);
  add("matrix", matrix, ["testset", "metric", "test", "a", "b"]);
  add("forest", forest, ["testset", "a", "b"]);
  tell();
  page.on(tell);
  document.addEventListener("DOMContentLoaded", tell);
  performance.mark("first-picture");
})();
