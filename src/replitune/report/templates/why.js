// Why B is better than A: segments, groups of segments, words; over all runs, not from one.
const why = (() => {
  const { state, set, said, data, cell, make, fill, field } = page;
  const { add, show, plot, colour, elided, longest, tip } = pictures;
  const KINDS = { length: "length of the reference", ratio: "length of the outputs relative to the reference", document: "document", part: "part", words: "frequency of the words" };
  const FEW = 12;

  // the entries of A and B in a list by name
  const ofPair = (block, list) => {
    const pair = block && page.pairIn(block.names, state.a, state.b);
    return pair && { ...pair, a: list[block.names.indexOf(state.a)], b: list[block.names.indexOf(state.b)] };
  };
  // the metric of differences on segments: that of the page, or the first if that is people's
  const measured = () => {
    const own = data.why[state.testset]?.differences, metric = own && (state.metric in own ? state.metric : Object.keys(own)[0]);
    return metric ? page.metricsOf(state.testset).find((c) => c.metric === metric) : null;
  };
  // B - A on a segment by that metric, mean over runs; null where there is none
  const difference = (row) => {
    const own = data.why[state.testset].differences, metric = measured().metric, pair = ofPair(own[metric], []);
    if (!pair) return null;
    const at = 4 * (Object.keys(own).indexOf(metric) * own[metric].pairs.length + pair.at), most = own[metric].most;
    const [found] = page.unpacked(row[6].slice(at, at + 4), 3, -most, most);
    return Number.isNaN(found) ? null : pair.turned ? -found : found;
  };
  // for each group the difference of means over runs, and its interval, none if a system has one run
  const turn = (pair, delta, low, high) => (pair.turned ? { delta: -delta, low: low === null ? null : -high, high: low === null ? null : -low } : { delta, low, high });
  const between = (of, pair) => {
    const every = page.unpacked(of.pairs[pair.at], 3, -of.most, of.most), n = every.length / 3, at = (i) => (Number.isNaN(every[i]) ? null : every[i]);
    return pair.a.map((a, i) => ({ a, b: pair.b[i], ...turn(pair, every[i], at(n + i), at(2 * n + i)) }));
  };

  // ---- segments: a histogram whose brush filters the segments below
  const low = make("input", ""), high = make("input", "");
  const histogram = (width) => {
    const c = cell(), found = data.why[state.testset]?.differences[state.metric], pair = found && ofPair(found, []);
    if (!pair) return null;
    const forth = (list) => (pair.turned ? [...list].reverse() : list), [step, counts, bins] = found.pairs[pair.at], [lower, equal, higher] = forth(counts);
    const [worse, better] = c.higher ? [lower, higher] : [higher, lower], half = bins.length / 2, most = half * step;
    // 0 is an edge between bins; equal scores have a narrow bin of their own, over it
    const around = equal ? step / 4 : 0;
    const rows = forth(bins).map((n, i) => ({ x0: (i - half) * step, x1: (i - half + 1) * step, n, fill: colour(i >= half === c.higher ? 1 : 0) }));
    if (equal) rows.push({ x0: 0, x1: 0, n: equal, fill: "var(--quiet)" });
    const margin = { left: 44, right: 10, top: 22, bottom: 36 }, height = 204;
    const node = plot({
      width, height, marginLeft: margin.left, marginRight: margin.right, marginTop: margin.top, marginBottom: margin.bottom,
      x: { label: `${c.name} of ${state.b} − ${state.a} on a segment, mean over runs`, labelAnchor: "center", labelArrow: "none", domain: [-most, most], ticks: width > 520 ? 9 : 5 },
      y: { label: "segments (square-root scale)", labelArrow: "none", grid: true, type: "sqrt", ticks: 4 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.rectY(rows, { x1: (row) => (row.x0 === row.x1 ? -around : row.x0 === 0 ? around : row.x0), x2: (row) => (row.x0 === row.x1 ? around : row.x1 === 0 ? -around : row.x1), y: "n", fill: "fill", insetLeft: 0.5, insetRight: 0.5 }),
      ],
    });
    const scale = node.scale("x");
    const brush = Plot.brushX().extent([[margin.left, margin.top], [width - margin.right, height - margin.bottom]]).on("end", ({ selection, sourceEvent }) => {
      if (!sourceEvent) return;
      choose(selection ? selection.map(scale.invert) : null);
    });
    const layer = Plot.select(node).append("g").attr("class", "brush").call(brush);
    if (state.range) layer.call(brush.move, state.range.map(scale.apply));
    return {
      node,
      caption: `Differences on single segments of ${state.testset}, means over all runs: ${state.b} is better on ${better.toLocaleString("en")}, ${state.a} on ${worse.toLocaleString("en")}, equal on ${equal.toLocaleString("en")}. Drag over a part of the histogram, or type its ends, to see those segments below.`,
      rows: rows.map((row) => ({ testset: state.testset, metric: c.name, a: state.a, b: state.b, from: row.x0, to: row.x1, segments: row.n })),
    };
  };
  const choose = (range) => {
    const d = cell().decimals;
    [low.value, high.value] = range ? range.map((x) => x.toFixed(d)) : ["", ""];
    set({ range }, true);
  };
  for (const [input, id] of [[low, "low"], [high, "high"]]) {
    Object.assign(input, { type: "number", step: "any", id: `range-${id}` });
    input.addEventListener("change", () => {
      const none = low.value === "" && high.value === "";
      set({ range: none ? null : [low.value === "" ? -1e9 : Number(low.value), high.value === "" ? 1e9 : Number(high.value)] }, true);
      show("histogram");
    });
  }
  document.getElementById("histogram-ends").append(field("difference from", low), field("to", high));
  page.on((changes) => { if (!state.range && !("range" in changes)) low.value = high.value = ""; });

  // ---- groups
  const kind = make("select", "");
  kind.id = "why-kind";
  kind.addEventListener("change", () => show("groups"));
  const groups = (width) => {
    const found = data.why[state.testset], c = cell();
    if (!found) return null;
    const kinds = Object.keys(KINDS).filter((k) => (k === "words" ? found.words : found.groups[k]?.metrics[state.metric]));
    if (!kinds.length || state.a === state.b) { kind.parentElement.hidden = true; return null; }
    const chosen = kinds.includes(kind.value) ? kind.value : kinds[0];
    kind.parentElement.hidden = false;
    fill(kind, kinds.map((k) => [k, KINDS[k]]), chosen);
    const words = chosen === "words", of = words ? found.words.recall : found.groups[chosen].metrics[state.metric], pair = ofPair(of, of.means);
    const names = words ? found.words.classes : found.groups[chosen].names, counts = words ? found.words.sizes : found.groups[chosen].sizes;
    if (!pair) return null;
    const told = between(of, pair), higher = words || c.higher, d = words ? 1 : c.decimals;
    let rows = names.map((name, i) => ({ name, n: counts[i], ...told[i] }));
    const all = rows;
    if (chosen === "document" && rows.length > FEW) {
      rows = [...rows].sort((x, y) => Math.abs(y.delta) * Math.sqrt(y.n) - Math.abs(x.delta) * Math.sqrt(x.n)).slice(0, FEW).sort((x, y) => (higher ? y.delta - x.delta : x.delta - y.delta));
    }
    const label = elided(rows.map((row) => row.name), width > 520 ? 30 : 18), left = longest(rows.map((row) => label(row.name))), right = width > 520 ? 190 : 12;
    const unit = words ? "word" : "segment";
    const node = plot({
      width, height: rows.length * 28 + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 36,
      y: { domain: rows.map((row) => row.name), label: null, tickSize: 0, tickFormat: label },
      x: { label: words ? "difference in the share of the references' words, in percentage points" : `difference in ${c.name}${c.higher ? "" : " (lower is better)"}`, labelAnchor: "center", labelArrow: "none", grid: true, reverse: !higher, nice: true, ticks: width > 520 ? 6 : 4 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.link(rows.filter((row) => row.low !== null), { x1: "low", x2: "high", y1: "name", y2: "name", stroke: "var(--accent)", strokeWidth: 2.5 }),
        Plot.dot(rows, { x: "delta", y: "name", r: (row) => 3 + 6 * Math.sqrt(row.n / Math.max(...rows.map((one) => one.n))), fill: "var(--accent)", fillOpacity: 0.8, title: (row) => `${row.name}: ${said.count(row.n, unit)}\n${state.a} ${said.score(row.a, d)}, ${state.b} ${said.score(row.b, d)}`, tip }),
        ...(width > 520 ? [Plot.text(rows, { y: "name", frameAnchor: "right", dx: right - 4, textAnchor: "end", text: (row) => `${said.signed(row.delta, d)} ${row.low === null ? "" : said.interval(row.low, row.high, d)}` })] : []),
      ],
    });
    const more = rows.length < all.length ? ` The ${rows.length} of ${all.length} documents that weigh most; the CSV has all.` : "";
    const scope = rows.some((row) => row.low !== null) ? "intervals are over runs and hold for these segments" : "one run of a system: no interval over runs";
    return {
      node,
      caption: (words
        ? `${state.b} − ${state.a}: share of the references' words that a run has, by how often they occur in ${found.words.in}; ${scope}.`
        : `${c.name} of ${state.b} − ${state.a} by ${KINDS[chosen]}, each group scored alone; ${scope}. Size: ${unit}s.`) + more,
      rows: all.map((row) => ({ testset: state.testset, metric: words ? "recall of words (%)" : c.name, by: chosen, group: row.name, [`${unit}s`]: row.n, a: state.a, b: state.b, score_a: row.a, score_b: row.b, delta: row.delta, low: row.low, high: row.high })),
    };
  };
  document.getElementById("groups-kind").append(field("by", kind));

  // ---- words that the runs of B have right more often, or less often
  const wordTable = (width) => {
    const found = data.why[state.testset]?.words, pair = found && ofPair(found, []);
    if (!pair) return null;
    const sides = found.pairs[pair.at].map((side) => side.map(([gram, expected, first, second, ...rest]) => ({ gram, expected, a: pair.turned ? second : first, b: pair.turned ? first : second, ...turn(pair, ...rest) })));
    const [gained, lost] = pair.turned ? sides.reverse() : sides, intervals = [...gained, ...lost].some((row) => row.low !== null);
    const sure = (row) => row.low === null || row.low > 0 || row.high < 0;
    const label = elided([state.a, state.b], width > 520 ? 22 : 10);
    const table = (caption, list) => {
      const head = make("tr", "", ...["n-gram", "in references", label(state.a), label(state.b), "difference"].map((text, i) => {
        const th = make("th", i ? "" : "word", text);
        th.scope = "col";
        return th;
      }));
      const body = list.map((row) => make("tr", sure(row) ? "" : "unsure", make("td", "word", row.gram), make("td", "", String(row.expected)), make("td", "", row.a.toFixed(1)), make("td", "", row.b.toFixed(1)),
        make("td", "", `${said.signed(row.delta, 1)}${row.low === null ? "" : ` ${said.interval(row.low, row.high, 1)}`}`)));
      const whole = make("table", "words", make("caption", "", caption), make("thead", "", head), make("tbody", "", ...body));
      const scroll = make("div", "scroll", whole);
      scroll.tabIndex = 0;
      scroll.setAttribute("role", "region");
      scroll.setAttribute("aria-label", caption);
      return scroll;
    };
    const node = make("div", "canvas-pair", table(`What ${state.b} has right more often`, gained), table(`What ${state.a} has right more often`, lost));
    return {
      node,
      caption: `n-grams of 1 to 3 words of the references: how often a run has them right, mean over runs${intervals ? ", and the difference with its interval over runs; grey where that contains 0" : ""}. From the ${found.of.toLocaleString("en")} n-grams on which systems differ most.`,
      rows: [...gained, ...lost].map((row) => ({ testset: state.testset, ngram: row.gram, references: row.expected, a: state.a, b: state.b, mean_a: row.a, mean_b: row.b, delta: row.delta, low: row.low, high: row.high })),
    };
  };
  add("histogram", histogram, ["testset", "metric", "a", "b"]);
  add("groups", groups, ["testset", "metric", "a", "b"]);
  add("words", wordTable, ["testset", "a", "b"]);
  const ends = () => { document.getElementById("histogram-ends").hidden = document.getElementById("picture-histogram").hidden; };
  ends();
  page.on(ends);
  return { measured, difference };
})();
