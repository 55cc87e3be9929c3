// Why B is better than A: segments, groups of segments, words; of all runs, not of one.
const why = (() => {
  const { state, set, said, data, cell, system, make, fill, field } = page;
  const { add, show, plot, short, longest, tip } = pictures;
  const KINDS = { length: "length of the reference", ratio: "length of the outputs beside the reference", document: "document", part: "part", words: "how frequent words are" };
  const FEW = 12;

  // numbers of three bytes between the smallest and the largest, see report/page_numbers.py
  const unpacked = new Map();
  const means = (testset, metric, name) => {
    const found = data.why[testset]?.means[metric]?.[name];
    if (!found) return null;
    if (!unpacked.has(found)) {
      const [low, high, text] = found, bytes = atob(text), size = bytes.length / 3, MISSING = 2 ** 24 - 1;
      unpacked.set(found, Float64Array.from({ length: size }, (_, i) => {
        const value = bytes.charCodeAt(3 * i) + 256 * bytes.charCodeAt(3 * i + 1) + 65536 * bytes.charCodeAt(3 * i + 2);
        return value === MISSING ? NaN : low + ((high - low) * value) / (MISSING - 1);
      }));
    }
    return unpacked.get(found);
  };
  // B - A on each segment, by the metric of the page
  const differences = () => {
    const a = means(state.testset, state.metric, state.a), b = means(state.testset, state.metric, state.b);
    return a && b && state.a !== state.b ? b.map((x, i) => x - a[i]) : null;
  };
  // the interval of a difference of means over runs (Welch); none where a system has one run
  const welch = (a, b, i, nA, nB) => {
    const delta = b[0][i] - a[0][i];
    if (Math.min(nA, nB) < 2) return { delta, low: null, high: null };
    const [vA, vB] = [a[1][i] ** 2 / nA, b[1][i] ** 2 / nB], v = vA + vB;
    if (!(v > 0)) return { delta, low: delta, high: delta };
    const reach = Math.sqrt(v) * quantile(v ** 2 / (vA ** 2 / (nA - 1) + vB ** 2 / (nB - 1)));
    return { delta, low: delta - reach, high: delta + reach };
  };
  const quantiles = new Map();
  const quantile = (df) => {
    const key = Math.round(df * 20) / 20;
    if (!quantiles.has(key)) quantiles.set(key, power.tQuantile(Math.max(key, 0.5), data.alpha / 2));
    return quantiles.get(key);
  };
  const sizes = () => { const c = cell(); return [system(c, state.a).n, system(c, state.b).n]; };

  // ---- segments: a histogram whose brush filters the segments below
  const low = make("input", ""), high = make("input", "");
  const histogram = (width) => {
    const deltas = differences(), c = cell();
    if (!deltas) return null;
    const known = [...deltas].filter((x) => !Number.isNaN(x)), most = Math.max(...known.map(Math.abs), 1e-12);
    const bins = Plot.bin().domain([-most, most]).thresholds(41)(known);
    const rows = bins.map((bin) => ({ x0: bin.x0, x1: bin.x1, n: bin.length, better: (bin.x0 + bin.x1) / 2 > 0 === c.higher }));
    const better = known.filter((x) => (c.higher ? x > 0 : x < 0)).length, worse = known.filter((x) => (c.higher ? x < 0 : x > 0)).length;
    const margin = { left: 44, right: 10, top: 22, bottom: 36 }, height = 204;
    const node = plot({
      width, height, marginLeft: margin.left, marginRight: margin.right, marginTop: margin.top, marginBottom: margin.bottom,
      x: { label: `${c.name} of ${state.b} − ${state.a} on a segment, mean over runs`, labelAnchor: "center", labelArrow: "none", domain: [-most, most], ticks: width > 520 ? 9 : 5 },
      y: { label: "segments", labelArrow: "none", grid: true, type: "sqrt", ticks: 4 },
      marks: [
        Plot.rectY(rows, { x1: "x0", x2: "x1", y: "n", fill: (row) => (row.better ? "var(--c5)" : "var(--c2)"), insetLeft: 0.5, insetRight: 0.5 }),
        Plot.ruleX([0], { stroke: "var(--ink)" }),
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
      caption: `Differences on single segments of ${state.testset}, means over all runs: ${state.b} is better on ${better.toLocaleString("en")}, ${state.a} on ${worse.toLocaleString("en")}, equal on ${(known.length - better - worse).toLocaleString("en")}. Drag over a part of it, or type its ends, to see those segments below.`,
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
  const every = { shown: false };
  const groups = (width) => {
    const found = data.why[state.testset], c = cell();
    if (!found) return null;
    const kinds = Object.keys(KINDS).filter((k) => (k === "words" ? found.words : found.groups[k]?.metrics[state.metric]));
    if (!kinds.length || state.a === state.b) { kind.parentElement.hidden = true; return null; }
    const chosen = kinds.includes(kind.value) ? kind.value : kinds[0];
    kind.parentElement.hidden = false;
    fill(kind, kinds.map((k) => [k, KINDS[k]]), chosen);
    const words = chosen === "words", of = words ? found.words.recall : found.groups[chosen].metrics[state.metric];
    const names = words ? found.words.classes : found.groups[chosen].names, counts = words ? found.words.sizes : found.groups[chosen].sizes;
    if (!of[state.a] || !of[state.b]) return null;
    const [nA, nB] = sizes(), higher = words || c.higher, d = words ? 1 : c.decimals;
    let rows = names.map((name, i) => ({ name, i, n: counts[i], a: of[state.a][0][i], b: of[state.b][0][i], ...welch(of[state.a], of[state.b], i, nA, nB) }));
    const all = rows;
    if (chosen === "document" && rows.length > FEW) {
      rows = [...rows].sort((x, y) => Math.abs(y.delta) * Math.sqrt(y.n) - Math.abs(x.delta) * Math.sqrt(x.n)).slice(0, FEW).sort((x, y) => (higher ? y.delta - x.delta : x.delta - y.delta));
    }
    const most = width > 520 ? 30 : 18, left = Math.min(longest(rows.map((row) => row.name), most), width * 0.4), right = width > 520 ? 190 : 12;
    const unit = words ? "word" : "segment";
    const node = plot({
      width, height: rows.length * 28 + 46, marginLeft: left, marginRight: right, marginTop: 4, marginBottom: 36,
      y: { domain: rows.map((row) => row.name), label: null, tickSize: 0, tickFormat: (name) => short(name, most) },
      x: { label: words ? "words of the references that are there, difference in % points" : `difference in ${c.name}${c.higher ? "" : " (lower is better)"}`, labelAnchor: "center", labelArrow: "none", grid: true, reverse: !higher, nice: true, ticks: width > 520 ? 6 : 4 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--ink)" }),
        Plot.link(rows.filter((row) => row.low !== null), { x1: "low", x2: "high", y1: "name", y2: "name", stroke: "var(--accent)", strokeWidth: 2.5 }),
        Plot.dot(rows, { x: "delta", y: "name", r: (row) => 3 + 6 * Math.sqrt(row.n / Math.max(...rows.map((one) => one.n))), fill: "var(--accent)", fillOpacity: 0.8, title: (row) => `${row.name}: ${said.count(row.n, unit)}\n${state.a} ${said.score(row.a, d)}, ${state.b} ${said.score(row.b, d)}`, tip }),
        ...(width > 520 ? [Plot.text(rows, { y: "name", frameAnchor: "right", dx: right - 4, textAnchor: "end", text: (row) => `${said.signed(row.delta, d)} ${row.low === null ? "" : said.interval(row.low, row.high, d)}` })] : []),
      ],
    });
    const more = rows.length < all.length ? ` The ${rows.length} of ${all.length} documents that weigh most; the CSV has all.` : "";
    const speaks = Math.min(nA, nB) > 1 ? "intervals are over runs and speak of these segments" : "one run of a system: no interval over runs";
    return {
      node,
      caption: (words
        ? `Share of the words of the references that ${state.b} has more than ${state.a}, by how often they occur in ${found.words.in}; ${speaks}.`
        : `${c.name} of ${state.b} − ${state.a} by ${KINDS[chosen]}, each group scored alone; ${speaks}. Size: ${unit}s.`) + more,
      rows: all.map((row) => ({ testset: state.testset, metric: words ? "recall of words (%)" : c.name, by: chosen, group: row.name, [`${unit}s`]: row.n, a: state.a, b: state.b, score_a: row.a, score_b: row.b, delta: row.delta, low: row.low, high: row.high })),
    };
  };
  document.getElementById("groups-kind").append(field("by", kind));

  // ---- words that the runs of B have right more often, or less often
  const TOP = 12;
  const wordTable = () => {
    const found = data.why[state.testset]?.words;
    if (!found || state.a === state.b || !found.right[state.a] || !found.right[state.b]) return null;
    const [nA, nB] = sizes();
    const rows = found.grams.map((gram, i) => ({ gram, expected: found.expected[i], a: found.right[state.a][0][i], b: found.right[state.b][0][i], ...welch(found.right[state.a], found.right[state.b], i, nA, nB) }));
    // with runs, those of which the interval leaves 0 out come first
    const sure = (row) => row.low === null || row.low > 0 || row.high < 0;
    const gained = rows.filter((row) => row.delta > 0).sort((x, y) => sure(y) - sure(x) || y.delta - x.delta).slice(0, TOP);
    const lost = rows.filter((row) => row.delta < 0).sort((x, y) => sure(y) - sure(x) || x.delta - y.delta).slice(0, TOP);
    const table = (caption, list) => {
      const head = make("tr", "", ...["n-gram", "in references", state.a, state.b, "difference"].map((text, i) => {
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
      caption: `n-grams of 1 to 3 words of the references: how often a run has them right, mean over runs${Math.min(nA, nB) > 1 ? ", with an interval over runs of the difference; grey where it has 0 in it" : ""}. Of the ${found.grams.length.toLocaleString("en")} n-grams in which systems differ most.`,
      rows: [...gained, ...lost].map((row) => ({ testset: state.testset, ngram: row.gram, references: row.expected, a: state.a, b: state.b, mean_a: row.a, mean_b: row.b, delta: row.delta, low: row.low, high: row.high })),
    };
  };
  add("histogram", histogram, ["testset", "metric", "a", "b"]);
  add("groups", groups, ["testset", "metric", "a", "b"]);
  add("words", wordTable, ["testset", "a", "b"]);
  const ends = () => { document.getElementById("histogram-ends").hidden = document.getElementById("picture-histogram").hidden; };
  ends();
  page.on(ends);
  return { differences };
})();
