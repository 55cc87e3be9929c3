// The pictures of the first screen: every system against the best or the baseline, or two systems by
// every metric; who beats whom. Sizes, intervals, states and words are from the answers.
(() => {
  const { state, set, said, data, cell, metricsOf, testOf, pairOf, system } = page;
  const { add, plot, clickable, colour, longest, tip, elided } = pictures;
  const INK = { blue: "var(--good)", amber: "var(--amber)", grey: "var(--quiet)" };
  const ink = (row) => (row.told && row.told.surely && row.told.tone === "blue" ? (row.x >= 0 ? "var(--good)" : "var(--bad)") : INK[row.told?.tone ?? "grey"]);
  const glyph = (row) => (row.told?.surely ? "triangle" : "circle");
  // a text that begins with one of the names, which is shortened
  const short = (text, names, label) => {
    const name = names.filter((one) => text.startsWith(`${one} `)).sort((x, y) => y.length - x.length)[0];
    return name === undefined ? text : label(name) + text.slice(name.length);
  };
  // the answer about B against A, turned so that better is to the right
  const toldOf = (c, a, b) => {
    const pair = pairOf(c, a, b);
    if (!pair) return null;
    const turn = c.place.get(b) === pair.b ? 1 : -1, side = pair.told.side * turn;
    const { size, low, high } = pair.told;
    const ends = low === null ? null : side < 0 ? [-high, -low] : [low, high];
    // runs of A against the mean of B, then runs of B against the mean of A
    const [places, one] = [page.unpacked(pair.dots[2], 2, pair.dots[0], pair.dots[1]).map((x) => turn * x), c.systems[pair.a].n];
    const dots = [places.slice(0, one), places.slice(one)];
    return { ...pair.told, x: side * size, ends, margin: pair.margin, detectable: pair.detectable, dots: turn > 0 ? dots : dots.reverse() };
  };
  const dotsOf = (c, one, places, more) => (one.n < 2 ? [] : one.runs.map(([id, , score], i) => {
    const odd = one.odd.includes(id);
    return { id, x: places[i], odd, ...more, text: `${one.name} ${id}: ${c.name} ${said.score(score, c.decimals)}${odd ? `\nfar from the other ${c.kind}s of its system` : ""}` };
  }));

  // marks that both pictures share: intervals, sizes, runs, odd runs with a ring and their name
  const marks = (rows, dots, facet, roomy) => {
    const y = facet ? { fy: "y", y: "side" } : { y: "y", dy: -8 }, odd = dots.filter((dot) => dot.odd);
    const single = (row) => row.told.state === "these-outputs", known = rows.filter((row) => row.ends);
    const interval = (some, dashes) => Plot.link(some, { ...(facet ? { fy: "y", y1: 0, y2: 0 } : { y1: "y", y2: "y" }), x1: (row) => row.ends[0], x2: (row) => row.ends[1], stroke: ink, strokeWidth: 3, strokeDasharray: dashes });
    const far = Math.max(...dots.map((dot) => dot.x), 0), left = (dot) => dot.x > far / 2;
    const named = (some, side) => Plot.text(some, { ...y, x: "x", text: "id", dx: 9 * side, textAnchor: side > 0 ? "start" : "end", fontSize: 11, fill: "var(--note)", stroke: "var(--paper)", strokeWidth: 3 });
    return [
      Plot.dot(dots, { ...y, x: "x", r: 2.6, fill: "fill", fillOpacity: 0.65, title: "text", tip }),
      Plot.dot(odd, { ...y, x: "x", r: 6, stroke: "var(--amber)", strokeWidth: 2 }),
      interval(known.filter((row) => !single(row)), null),
      interval(known.filter(single), "3 4"),
      Plot.dot(rows.filter((row) => row.told), { ...(facet ? { fy: "y", y: () => 0 } : { y: "y" }), x: "x", r: 6, symbol: glyph, rotate: (row) => (facet ? (row.x < 0 ? -90 : 90) : row.x < 0 ? 180 : 0), fill: (row) => (row.told.surely ? ink(row) : "var(--paper)"), stroke: ink, strokeWidth: 2.2, ariaLabel: "system" }),
      ...(roomy || odd.length < 2 ? [named(odd.filter(left), -1), named(odd.filter((dot) => !left(dot)), 1)] : []),
    ];
  };

  // ---- two systems: a row for each metric on its own scale, 0 at the same place, B better to the right
  const forest = (width) => {
    const rows = [];
    for (const c of metricsOf(state.testset)) {
      if (!c.place.has(state.a) || !c.place.has(state.b)) continue;
      const told = toldOf(c, state.a, state.b);
      if (!told) continue;
      const runs = ["a", "b"].flatMap((which, i) => dotsOf(c, system(c, state[which]), told.dots[i], { side: i ? 0.42 : -0.42, fill: colour(i) }));
      const reach = [told.x, ...(told.ends ?? []), ...runs.map((run) => run.x), ...(told.detectable ? [told.detectable, -told.detectable] : []), ...(told.margin ? [told.margin, -told.margin] : [])];
      const scale = Math.max(...reach.map(Math.abs), 1e-12);
      rows.push({ c, told, y: c.name, runs, scale, low: Math.min(...reach) / scale, high: Math.max(...reach) / scale,
        x: told.x / scale, ends: told.ends?.map((x) => x / scale) ?? null });
    }
    if (!rows.length) return null;
    const low = Math.min(-0.25, ...rows.map((row) => row.low)), high = Math.max(0.25, ...rows.map((row) => row.high));
    const wide = width > 620, shorter = elided([state.a, state.b], wide ? 24 : 16), [nameA, nameB] = [state.a, state.b].map(shorter);
    for (const row of rows) row.text = short(row.told.text, [state.a, state.b], shorter);
    const label = elided(rows.map((row) => row.y), wide ? 18 : 14);
    const texts = Math.max(...rows.map((row) => row.text.length)), right = wide ? Math.min(6.7 * texts + 14, width * 0.42) : 6;
    const lines = (row) => (wide && 6.7 * row.text.length > right ? row.text.replace(" (", "\n(") : row.text);
    const ticks = rows.flatMap((row) => Plot.ticks(low * row.scale, high * row.scale, wide ? 6 : 4).map((x) => ({ y: row.y, x: x / row.scale, text: said.tick(Math.abs(x)) })));
    const dots = rows.flatMap((row) => row.runs.map((run) => ({ ...run, y: row.y, x: run.x / row.scale })));
    const node = plot({
      width, height: rows.length * (wide ? 66 : 96) + 26,
      marginLeft: wide ? longest(rows.map((row) => label(row.y))) + 6 : 6, marginRight: right, marginTop: 22, marginBottom: 4,
      x: { axis: null, domain: [low * 1.04, high * 1.04] }, y: { axis: null, domain: [-1.15, 1.1] },
      fy: { axis: null, domain: rows.map((row) => row.y), padding: wide ? 0.06 : 0.16 },
      marks: [
        Plot.barX(rows.filter((row) => row.told.detectable), { fy: "y", x1: (row) => -row.told.detectable / row.scale, x2: (row) => row.told.detectable / row.scale, fill: "var(--band)" }),
        Plot.tickX(rows.filter((row) => row.told.margin).flatMap((row) => [-1, 1].map((side) => ({ y: row.y, x: (side * row.told.margin) / row.scale }))), { fy: "y", x: "x", stroke: "var(--note)", strokeDasharray: "3 3" }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        ...marks(rows, dots, true, wide),
        Plot.text(ticks, { fy: "y", x: "x", y: -1.02, text: "text", fill: "var(--quiet)", fontSize: 11, stroke: "var(--paper)", strokeWidth: 4 }),
        wide
          ? Plot.text(rows, { fy: "y", frameAnchor: "left", dx: -8, textAnchor: "end", text: (row) => label(row.y), fontWeight: 700, fontSize: 13 })
          : Plot.text(rows, { fy: "y", frameAnchor: "top-left", dy: -8, textAnchor: "start", text: (row) => `${label(row.y)}: ${row.text}`, fontSize: 12 }),
        ...(wide ? [Plot.text(rows, { fy: "y", frameAnchor: "right", dx: 10, textAnchor: "start", text: lines })] : []),
        Plot.text([{ x: 0 }], { fy: () => rows[0].y, x: "x", text: () => `← ${nameA} better`, frameAnchor: "top", dy: wide ? -16 : -22, dx: -8, textAnchor: "end", fill: "var(--c1)" }),
        Plot.text([{ x: 0 }], { fy: () => rows[0].y, x: "x", text: () => `${nameB} better →`, frameAnchor: "top", dy: wide ? -16 : -22, dx: 8, textAnchor: "start", fill: "var(--c2)" }),
      ],
    });
    return {
      node,
      caption: `How far ${state.b} and ${state.a} are apart on ${state.testset}, with ${page.unique(rows.map((row) => row.told.interval)).filter(Boolean).join(", ") || "no interval"} by ${page.unique(rows.map((row) => row.c.lead)).join(", ")}; filled: ${data.sure}.` +
        (dots.length ? ` Dots: ${rows[0].c.kind}s of ${state.b} (above) and of ${state.a} (below), each against the mean of the other.` : "") +
        (dots.some((dot) => dot.odd) ? " Ringed: far from the others of its system." : "") +
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
    const rows = systems.map((one) => {
      const told = one.name === anchor ? null : toldOf(c, anchor, one.name);
      return { ...one, y: one.name, told, x: one.name === anchor ? 0 : told?.x ?? null, ends: told?.ends ?? null };
    });
    const dots = rows.flatMap((row) => row.x === null ? [] : dotsOf(c, row, row.told?.dots[1] ?? c.own, { y: row.y, fill: row.y === state.a ? colour(0) : row.y === state.b ? colour(1) : "var(--quiet)" }));
    const wide = width > 620, names = rows.map((row) => row.y), label = elided(names, wide ? 26 : 14), left = longest(names.map(label));
    const words = (row) => (row.y === anchor ? `${said.score(row.avg, d)} ${c.name}` : !row.told ? "not tested" : wide ? short(row.told.text, [anchor, row.name], label) : row.told.text.replace(/^.* by /, row.x < 0 ? "−" : "+").replace(/ \(.*/, ""));
    const right = wide ? Math.min(6.6 * Math.max(...rows.map((row) => words(row).length)) + 12, width * 0.44) : 64;
    const best = anchor === systems[0].name;
    const node = plot({
      width, height: rows.length * (rows.length > 25 ? 17 : rows.length > 14 ? 21 : 28) + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 36,
      y: { domain: rows.map((row) => row.y), label: null, tickFormat: label, tickSize: 0 },
      x: { label: `${c.name} ${c.neutral ? "more than" : "better than"} ${label(anchor)} →`, labelAnchor: "center", labelArrow: "none", grid: true, nice: true, ticks: wide ? 6 : 3, tickFormat: said.tick },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        ...marks(rows, dots, false, wide),
        Plot.dot(rows.filter((row) => row.y === anchor), { x: "x", y: "y", r: 5, fill: "var(--ink)" }),
        Plot.text(rows, { y: "y", frameAnchor: "right", dx: right - 2, textAnchor: "end", text: words, fontWeight: (row) => (row.told?.surely ? 700 : 400) }),
      ],
    });
    clickable(node, "dot", rows, (row) => { if (row.name !== state.a && row.name !== state.b) set({ b: row.name }); });
    const intervals = page.unique(rows.map((row) => row.told?.interval)).filter(Boolean);
    return {
      node,
      caption: `Every system against ${anchor}${best ? ", which has the best mean" : ", the baseline"}, by ${c.name} on ${c.testset}: the difference with its ${intervals.join(", ") || "no interval"} by ${c.lead}; filled: ${data.sure}` +
        (dots.length ? `; small dots are ${c.kind}s` : "") + (dots.some((dot) => dot.odd) ? ", ringed where far from the others of the system" : "") + "." +
        (rows.some((row) => row.told?.state === "these-outputs") ? " Dashed: single outputs, which say nothing about others." : ""),
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, system: row.name, n: row.n, score: row.avg, s_sel: row.sel, s_test: row.test, against: anchor, better_by: row.told && row.x, low: row.ends?.[0] ?? null, high: row.ends?.[1] ?? null, state: row.told?.state ?? null, cluster: row.cluster, rank_best: row.ranks?.[0] ?? null, rank_worst: row.ranks?.[1] ?? null, people_best: row.people?.[0] ?? null, people_worst: row.people?.[1] ?? null })),
    };
  };

  // who beats whom: a cell for each pair of systems by the chosen test, with p if there is room
  const matrix = (width) => {
    const c = cell(), names = c.systems.map((one) => one.name), label = elided(names, 14), left = longest(names.map(label));
    const rows = names.flatMap((a) => names.map((b) => ({ a, b, test: a === b ? null : testOf(c, a, b, state.test) }))).filter((row) => row.test);
    if (names.length < 3 || !rows.length || c.neutral) return null;
    const right = 0.4 * left; // the last name leans over it
    const size = Math.max(Math.min((width - left - right) / names.length, 50), 14), top = 0.9 * left + 6, roomy = size >= 46;
    const sign = ({ test: { won } }) => (won === 1 ? "▲" : won === -1 ? "▽" : "");
    const axis = { domain: names, label: null, tickFormat: label, tickSize: 0, padding: 0.04 };
    const node = plot({
      width: left + right + size * names.length, height: size * names.length + top, marginLeft: left, marginTop: top, marginRight: right, marginBottom: 0,
      x: { ...axis, axis: "top", tickRotate: -60 }, y: axis,
      marks: [
        Plot.cell(rows, { x: "a", y: "b", fill: ({ test: { won } }) => (won === 1 ? "var(--won)" : won === -1 ? "var(--lost)" : "var(--soft)"), title: (row) => `${row.b} against ${row.a}: p = ${said.p(row.test.adjusted)}`, tip }),
        Plot.text(rows, { x: "a", y: "b", text: (row) => sign(row) + (roomy ? said.p(row.test.adjusted) : ""), fontSize: 11, fontWeight: (row) => (row.test.won ? 700 : 400), pointerEvents: "none" }),
        Plot.cell(rows.filter((row) => row.a === state.a && row.b === state.b), { x: "a", y: "b", fill: "none", stroke: "var(--ink)", strokeWidth: 2.5, pointerEvents: "none" }),
      ],
    });
    clickable(node, "cell", rows, (row) => set({ a: row.a, b: row.b }));
    return {
      node,
      caption: `Who beats whom by ${c.name} on ${c.testset} (${state.test}): blue and ▲ where the row's system beats the column's, orange and ▽ where it is beaten, at ${data.alpha}` +
        (roomy ? "; adjusted p" : "") + ". A click chooses the pair for the whole page; so do the boxes A and B.",
      rows: rows.map(({ a, b, test }) => ({ testset: c.testset, metric: c.name, test: state.test, a, b, delta: test.delta, p_adjusted: test.adjusted })),
    };
  };

  let known = null;
  const sentences = () => {
    if (document.readyState === "loading") return new Map();
    known ??= new Map([...document.querySelectorAll("#tables .verdicts li")].map((item) => [item.dataset.of, item]));
    return known;
  };
  // the sentence about the chosen pair, and rows of the table for the chosen test set
  const tell = () => {
    const c = cell(), pair = pairOf(c, state.a, state.b);
    const holder = document.getElementById("said");
    // the sentence about the pair, if the page has it among the verdicts
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
