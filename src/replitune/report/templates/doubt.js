// How sure: runs, where the doubt comes from, what it would take, and how runs got where they are.
(() => {
  const { state, set, said, data, cell, testOf, pairOf, make, field } = page;
  const { add, show, plot, clickable, colour, elided, longest, tip, SYMBOLS } = pictures;
  const MANY = 12;

  const shownSystems = (c) => (c.systems.length > MANY ? c.systems.filter((one) => one.name === state.a || one.name === state.b) : c.systems);

  const strip = (width) => {
    const c = cell(), systems = shownSystems(c).filter((one) => one.n > 1), d = c.decimals;
    if (!systems.length) return null;
    const tuners = page.unique(systems.flatMap((one) => one.runs.map((run) => run[1] ?? "run")));
    const rows = systems.flatMap((one) => one.runs.map(([id, tuner, score], i) => {
      const dev = (data.histories[one.name]?.[id] ?? []).filter((x) => x !== null).at(-1);
      const lines = [`${one.name} ${id}`, ...(tuner ? [`tuner ${tuner}`] : []), ...(dev === undefined ? [] : [`last score on dev ${dev}`]), `${c.name} ${said.score(score, d)}`];
      return { system: one.name, run: id, tuner: tuner ?? "run", score, dev: dev ?? null, side: (((i * 7) % 11) - 5) / 13, text: lines.join("\n") };
    }));
    const chosen = rows.filter((row) => state.run && row.system === state.run[0] && row.run === state.run[1]);
    const names = systems.map((one) => one.name), label = elided(names, width > 520 ? 22 : 14), left = longest(names.map(label));
    const node = plot({
      width, height: systems.length * 46 + 44, marginLeft: left, marginRight: 12, marginTop: 4, marginBottom: 36,
      fy: { domain: systems.map((one) => one.name), axis: null, padding: 0.1 }, y: { axis: null, domain: [-0.6, 0.6] },
      x: { label: `${c.name} of each run${c.neutral || c.higher ? "" : " (lower is better)"}`, labelAnchor: "center", labelArrow: "none", grid: true, reverse: !c.higher, nice: true, ticks: width > 520 ? 8 : 4 },
      symbol: { domain: tuners, range: tuners.map((_, i) => SYMBOLS[i % SYMBOLS.length]) },
      marks: [
        Plot.text(systems, { fy: "name", frameAnchor: "left", dx: -8, textAnchor: "end", text: (one) => label(one.name) }),
        Plot.tickX(systems, { fy: "name", x: "avg", stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.dot(rows, { fy: "system", x: "score", y: "side", symbol: "tuner", r: 4, fill: (row) => (row.system === state.a ? colour(0) : row.system === state.b ? colour(1) : "var(--quiet)"), fillOpacity: 0.75, title: "text", tip }),
        Plot.dot(chosen, { fy: "system", x: "score", y: "side", r: 8, stroke: "var(--ink)", strokeWidth: 2 }),
      ],
    });
    clickable(node, "dot", rows, (row) => {
      const changes = { run: [row.system, row.run] };
      if (row.system !== state.a && row.system !== state.b) changes.b = row.system;
      set(changes, true);
    });
    return {
      node,
      caption: `${c.name} of every run on ${c.testset}; the line is the mean` +
        (tuners.length > 1 ? `; ${tuners.map((tuner, i) => `${tuner} ${SYMBOLS[i % SYMBOLS.length]}`).join(", ")}` : "") +
        ". Where systems overlap, one run of each can show either order. A click shows the segments of that run.",
      rows: rows.map(({ system: name, run, tuner, score, dev }) => ({ testset: c.testset, metric: c.name, system: name, run, tuner, score, dev })),
    };
  };

  const doubt = (width) => {
    const c = cell(), pair = pairOf(c, state.a, state.b);
    const rows = (pair?.doubt ?? []).map(([source, share, text]) => {
      const about = c.systems[source]?.name;
      return { what: about ? `runs of ${about}` : source, share, text, fill: !about && source !== "runs" ? "var(--slate)" : about === state.b ? "var(--c2)" : "var(--c1)" };
    }).filter((row) => row.share > 0);
    if (!rows.length) return null;
    let from = 0;
    for (const row of rows) { row.from = from; from += row.share; row.to = from; }
    const largest = rows.reduce((x, y) => (y.share > x.share ? y : x));
    const node = plot({
      width, height: 58, marginLeft: 4, marginRight: 4, marginTop: 2, marginBottom: 20, x: { axis: null, domain: [0, 1] },
      marks: [
        Plot.barX(rows, { x1: "from", x2: "to", fill: "fill", insetLeft: 1, insetRight: 1, title: (row) => `${row.text}: ${row.what}`, tip }),
        Plot.text(rows.filter((row) => row.share * width > 40), { x: (row) => (row.from + row.to) / 2, text: "text", fill: "white", fontWeight: 700, pointerEvents: "none" }),
        Plot.text(rows.filter((row) => row.share * width > 7 * row.what.length), { x: (row) => (row.from + row.to) / 2, frameAnchor: "bottom", dy: 16, text: "what", fill: "var(--ink)" }),
      ],
    });
    return {
      node,
      caption: `${largest.text} of the doubt about ${state.b} − ${state.a} by ${c.name} is due to ${largest.what}` +
        (rows.length > 1 ? ` (${rows.filter((row) => row !== largest).map((row) => `${row.what} ${row.text}`).join(", ")})` : "") +
        ": shares of the variance of the difference.",
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, a: state.a, b: state.b, source: row.what, share: row.share })),
    };
  };

  // ---- what would it take?
  const sliders = document.getElementById("power-sliders");
  const wish = { row: null, column: null, of: "" };
  const slider = (id, text) => {
    const input = make("input", "");
    Object.assign(input, { type: "range", id: `power-${id}`, min: 0, step: 1 });
    const output = make("output", "");
    output.htmlFor = input.id;
    return { input, output, label: make("label", "", make("span", "", text, " "), output, input) };
  };
  const runs = slider("n", "runs of each system"), segments = slider("segments", "segments");
  const same = (n) => (n[0] === n[1] ? `${n[0]}` : `${n[0]} and ${n[1]}`);

  // the plans of a pair: a row for its own runs and for each stop, a column for each number of segments
  const plansOf = (c, [tuners, own, low, high, ...texts]) => {
    const [detectable, observed, curve] = [[low, high], [0, 1], [0, 1]].map((ends, k) => page.unpacked(texts[k], 3 - k, ...ends));
    const numbers = [own, ...data.plans.runs.map((n) => [n * tuners, n * tuners])], at = data.plans.curve;
    return { numbers, plan: (row, column) => {
      const i = row * c.sizes.length + column, found = detectable[i];
      const points = at.map((times, k) => ({ delta: times * found, power: curve[i * at.length + k] }));
      return { detectable: found, observed: observed[i], points: [...points, { delta: found, power: data.plans.wanted }].sort((x, y) => x.delta - y.delta) };
    } };
  };
  const nearest = (values, wanted) => values.reduce((best, x, i) => (Math.abs(x - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);

  const what = (width) => {
    const c = cell(), pair = pairOf(c, state.a, state.b), test = testOf(c, state.a, state.b, c.lead);
    sliders.hidden = !pair?.plans || !test;
    if (sliders.hidden) return null;
    const { numbers, plan: planAt } = plansOf(c, pair.plans), d = c.decimals, ownColumn = c.sizes.indexOf(c.segments);
    const own = c.place.get(state.a) === pair.a ? numbers[0] : [...numbers[0]].reverse();
    const of = `${c.testset} ${c.metric} ${state.a} ${state.b}`;
    if (wish.of !== of) Object.assign(wish, { of, row: null, column: null });
    const stops = numbers.slice(1).map(([n]) => n), n = wish.row === null ? own : numbers[wish.row];
    const column = wish.column ?? ownColumn, N = c.sizes[column];
    for (const [{ input, output }, most, value, text] of [
      [runs, stops.length - 1, wish.row === null ? nearest(stops, (own[0] + own[1]) / 2) : wish.row - 1, same(n)],
      [segments, c.sizes.length - 1, column, N.toLocaleString("en")],
    ]) {
      Object.assign(input, { max: most, value });
      input.setAttribute("aria-valuetext", text);
      output.value = text;
    }
    const plans = [{ name: "this experiment", ...planAt(0, ownColumn), detectable: pair.detectable }];
    if (wish.row !== null || wish.column !== null) plans.push({ name: "the plan", ...planAt(wish.row ?? 0, column) });
    const observed = Math.abs(test.delta), last = Math.max(observed * 1.3, ...plans.map((plan) => 1.8 * plan.detectable));
    const rows = plans.flatMap(({ name, points }) => [...points, { delta: Math.max(last, 2 * points.at(-1).delta), power: points.at(-1).power }].map((point) => ({ name, ...point })));
    const ends = plans.map(({ name, points }, i) => ({ name, i, y: (points.find(({ delta }) => delta >= last) ?? points.at(-1)).power - 0.09 * i }));
    const plan = plans.at(-1);
    const node = plot({
      width, height: 250, marginLeft: 40, marginRight: 110, marginBottom: 38, marginTop: 26,
      x: { label: `power, by the true difference in ${c.name}`, labelAnchor: "center", labelArrow: "none", domain: [0, last], ticks: 6 },
      y: { label: null, domain: [0, 1], grid: true, ticks: 5 },
      marks: [
        Plot.ruleY([data.plans.wanted], { stroke: "var(--quiet)", strokeDasharray: "3 3" }),
        Plot.ruleX([observed], { stroke: "var(--ink)" }),
        Plot.line(rows, { x: "delta", y: "power", z: "name", stroke: (row) => (row.name === "the plan" ? "var(--c2)" : "var(--c1)"), strokeWidth: 2.2, curve: "monotone-x", clip: true }),
        Plot.dot(plans, { x: "detectable", y: data.plans.wanted, r: 5, fill: (_, i) => (i ? "var(--c2)" : "var(--c1)") }),
        Plot.text(ends, { x: last, y: "y", text: "name", textAnchor: "start", dx: 6, fill: ({ i }) => (i ? "var(--c2)" : "var(--c1)") }),
        Plot.text([{ x: observed }], { x: "x", frameAnchor: "top", lineAnchor: "bottom", dy: -3, textAnchor: "middle", text: () => "observed", fill: "var(--quiet)" }),
      ],
    });
    return {
      node,
      caption: `With ${same(n)} runs and ${N.toLocaleString("en")} segments, a difference of ${said.score(plan.detectable, d)} ${c.name} is found four times in five by crossed at ${data.alpha}` +
        (plans.length > 1 ? ` (this experiment: ${said.score(pair.detectable, d)})` : "") +
        `. Given the observed ${said.score(observed, d)}, it would decide with probability ${said.percent(plan.observed)}. From the variances of this experiment, which few runs estimate poorly; it holds for ${c.says[c.lead]}.`,
      rows: rows.map((row) => ({ testset: c.testset, metric: c.name, a: state.a, b: state.b, plan: row.name, delta: row.delta, power: row.power })),
    };
  };
  sliders.append(runs.label, segments.label);
  runs.input.addEventListener("input", () => { wish.row = 1 + Number(runs.input.value); show("power"); });
  segments.input.addEventListener("input", () => { wish.column = Number(segments.input.value); show("power"); });

  // ---- how runs got where they are
  const convergence = (width) => {
    const names = Object.keys(data.histories);
    if (!names.length) return null;
    const rows = names.flatMap((name, k) => Object.entries(data.histories[name]).flatMap(([run, scores]) =>
      scores.map((score, i) => ({ system: name, run, z: `${name} ${run}`, iteration: i, score, k })).filter((row) => row.score !== null)));
    const node = plot({
      width, height: 280, marginTop: 24, marginLeft: 44, marginRight: 12, marginBottom: 38,
      x: { label: "iteration", labelAnchor: "center", labelArrow: "none", tickFormat: (x) => (Number.isInteger(x) ? String(x) : "") },
      y: { label: "score on dev", labelArrow: "none", grid: true },
      marks: [
        Plot.line(rows, { x: "iteration", y: "score", z: "z", stroke: (row) => colour(row.k), strokeOpacity: 0.7, strokeWidth: 1.3 }),
        Plot.dot(rows, { x: "iteration", y: "score", r: 1.8, fill: (row) => colour(row.k), title: (row) => `${row.system} ${row.run}\niteration ${row.iteration}: ${row.score}`, tip }),
      ],
    });
    const keys = names.map((name, k) => `${name} ${["dark blue", "orange", "light blue", "purple", "green", "grey", "yellow"][k % 7]}`);
    return { node, caption: `Score on the dev set at each iteration of every run: ${keys.join(", ")}. Where curves of one system end apart, tuning itself is a source of chance.`,
      rows: rows.map(({ system: name, run, iteration, score }) => ({ system: name, run, iteration, score })) };
  };

  const looks = (width) => {
    const found = data.looks;
    if (!found || found.testset !== state.testset) return null;
    const rows = found.rows.filter((row) => [state.a, state.b].includes(row[1]) && [state.a, state.b].includes(row[2]) && row[5] !== null)
      .map(([look, a, b, nA, nB, delta, low, high, decision]) => ({ look, a, b, nA, nB, delta, low, high, decision, y: `look ${look}: ${nA} + ${nB}` }));
    if (!rows.length) return null;
    const d = cell().decimals;
    const node = plot({
      width, height: rows.length * 30 + 46, marginLeft: 110, marginRight: 110, marginBottom: 36, marginTop: 4,
      y: { domain: rows.map((row) => row.y), label: null, tickSize: 0 }, x: { label: `difference in ${found.metric}`, labelAnchor: "center", labelArrow: "none", grid: true },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.link(rows.filter((row) => row.low !== null), { x1: "low", x2: "high", y1: "y", y2: "y", stroke: "var(--accent)", strokeWidth: 2.5 }),
        Plot.dot(rows, { x: "delta", y: "y", r: 5, fill: "var(--accent)", title: (row) => `${said.signed(row.delta, d)} ${said.interval(row.low, row.high, d)}`, tip }),
        Plot.text(rows, { y: "y", frameAnchor: "right", dx: 104, textAnchor: "end", text: "decision" }),
      ],
    });
    return { node, caption: `${rows[0].b} − ${rows[0].a} by ${found.metric} at each look, runs of A + B, with the rule's interval of this pair alone, which covers what all possible runs would show.`,
      rows: rows.map(({ y, ...row }) => row) };
  };

  add("strip", strip, ["testset", "metric", "a", "b", "run"]);
  add("doubt", doubt, ["testset", "metric", "a", "b"]);
  add("power", what, ["testset", "metric", "a", "b"]);
  add("convergence", convergence, []);
  add("looks", looks, ["testset", "a", "b"]);
  const empty = () => {
    const section = document.getElementById("doubts");
    section.hidden = [...section.querySelectorAll("figure")].every((figure) => figure.hidden);
  };
  empty();
  page.on(empty);
})();
