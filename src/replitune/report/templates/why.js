// Why B is better than A: segments, groups of segments, words; over all runs, not from one.
const why = (() => {
  const { state, set, said, data, cell, make, fill, field } = page;
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

  // ---- how many segments, and which of them are shown below
  const low = make("input", ""), high = make("input", "");
  const counted = () => {
    const c = measured(), found = c && data.why[state.testset].differences[c.metric], pair = found && ofPair(found, []);
    if (!pair) return null;
    const [lower, equal, higher] = pair.turned ? [...found.pairs[pair.at]].reverse() : found.pairs[pair.at];
    const [worse, better] = c.higher ? [lower, higher] : [higher, lower];
    return `By ${c.name}, mean over ${c.kind}s, ${state.b} is better on ${said.count(better, "segment")}, ${state.a} on ${worse.toLocaleString("en")}, and ${equal.toLocaleString("en")} are equal.`;
  };
  for (const [input, id] of [[low, "low"], [high, "high"]]) {
    Object.assign(input, { type: "number", step: "any", id: `range-${id}` });
    input.addEventListener("change", () => {
      const none = low.value === "" && high.value === "";
      set({ range: none ? null : [low.value === "" ? -1e9 : Number(low.value), high.value === "" ? 1e9 : Number(high.value)] }, true);
    });
  }

  // ---- tables
  const table = (caption, heads, rows) => {
    const head = make("tr", "", ...heads.map((text, i) => {
      const th = make("th", i ? "" : "word", text);
      th.scope = "col";
      return th;
    }));
    const body = rows.map(({ cells, unsure }) => make("tr", unsure ? "unsure" : "", ...cells.map((text, i) => make("td", i ? "" : "word", text))));
    const scroll = make("div", "scroll", make("table", "words", make("caption", "", caption), make("thead", "", head), make("tbody", "", ...body)));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", caption);
    return scroll;
  };
  const unsure = (row) => row.low !== null && row.low <= 0 && row.high >= 0;
  const change = (row, d) => `${said.signed(row.delta, d)}${row.low === null ? "" : ` ${said.interval(row.low, row.high, d)}`}`;

  // ---- groups
  const kind = make("select", "");
  kind.id = "why-kind";
  kind.addEventListener("change", () => refresh());
  const groups = () => {
    const found = data.why[state.testset], c = cell();
    const kinds = !found || state.a === state.b ? [] : Object.keys(KINDS).filter((k) => (k === "words" ? found.words : found.groups[k]?.metrics[state.metric]));
    kindField.hidden = !kinds.length;
    if (!kinds.length) return null;
    const chosen = kinds.includes(kind.value) ? kind.value : kinds[0];
    fill(kind, kinds.map((k) => [k, KINDS[k]]), chosen);
    const words = chosen === "words", of = words ? found.words.recall : found.groups[chosen].metrics[state.metric], pair = ofPair(of, of.means);
    const names = words ? found.words.classes : found.groups[chosen].names, counts = words ? found.words.sizes : found.groups[chosen].sizes;
    if (!pair) return null;
    const told = between(of, pair), d = words ? 1 : c.decimals;
    let rows = names.map((name, i) => ({ name, n: counts[i], ...told[i] }));
    if (chosen === "document" && rows.length > FEW) {
      rows = rows.sort((x, y) => Math.abs(y.delta) * Math.sqrt(y.n) - Math.abs(x.delta) * Math.sqrt(x.n)).slice(0, FEW).sort((x, y) => y.delta - x.delta);
    }
    const unit = words ? "words" : "segments", what = words ? `Share of the references' words that a ${c.kind} has (%)` : `${c.name}${c.higher ? "" : " (lower is better)"}, each group scored alone`;
    const less = rows.length < names.length ? `; the ${rows.length} of ${names.length} documents that weigh most` : "";
    const scope = rows.some((row) => row.low !== null) ? `intervals are over ${c.kind}s and hold for these segments` : `one ${c.kind} of a system: no interval`;
    return table(`${what}, by ${KINDS[chosen]}; ${scope}${less}`, ["group", unit, state.a, state.b, "difference"],
      rows.map((row) => ({ unsure: unsure(row), cells: [row.name, row.n.toLocaleString("en"), said.score(row.a, d), said.score(row.b, d), change(row, d)] })));
  };

  // ---- words that the runs of B have right more often, or less often
  const wordTables = () => {
    const found = data.why[state.testset]?.words, pair = found && ofPair(found, []);
    if (!pair) return [];
    const sides = found.pairs[pair.at].map((side) => side.map(([gram, expected, first, second, ...rest]) => ({ gram, expected, a: pair.turned ? second : first, b: pair.turned ? first : second, ...turn(pair, ...rest) })));
    const [gained, lost] = pair.turned ? sides.reverse() : sides;
    return [[state.b, gained], [state.a, lost]].map(([name, list]) => table(`What ${name} has right more often: n-grams of the references, mean over ${cell().kind}s`, ["n-gram", "in references", state.a, state.b, "difference"],
      list.map((row) => ({ unsure: unsure(row), cells: [row.gram, String(row.expected), row.a.toFixed(1), row.b.toFixed(1), change(row, 1)] }))));
  };

  const kindField = field("by", kind), holder = document.getElementById("reasons");
  const counts = make("p", ""), ranges = make("div", "controls", field("difference from", low), field("to", high)), grouped = make("div", ""), worded = make("div", "canvas-pair");
  holder.append(counts, make("div", "controls", kindField), grouped, worded, ranges);
  const refresh = () => {
    const text = counted();
    counts.textContent = text ?? "";
    ranges.hidden = text === null;
    if (!state.range) low.value = high.value = "";
    grouped.replaceChildren(...[groups()].filter(Boolean));
    worded.replaceChildren(...wordTables());
  };
  refresh();
  page.on(refresh);
  return { measured, difference };
})();
