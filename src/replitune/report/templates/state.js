"use strict";
// What the whole page shows: test set, metric, test, pair (A, B), and perhaps one run. It is kept
// in the URL's fragment, and changed by the boxes on top or by a click in a picture.
const page = (() => {
  const data = JSON.parse(document.getElementById("numbers").textContent);
  const state = { testset: "", metric: "", test: "", a: "", b: "", run: null, range: null };
  const LETTERS = { testset: "t", metric: "m", test: "k", a: "a", b: "b" };
  const listeners = [];

  const make = (tag, className, ...content) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...content);
    return element;
  };
  const fill = (select, values, chosen) => {
    select.replaceChildren(...values.map(([value, text]) => {
      const option = make("option", "", text);
      option.value = value;
      option.selected = value === chosen;
      return option;
    }));
  };
  const field = (text, control) => make("label", "", make("span", "", text), control);

  // ---- numbers in print, as results/numbers.py has them
  const fixed = (x, decimals) => x.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "");
  const said = {
    score: (x, decimals) => (x === null || x === undefined ? "–" : fixed(x, decimals)),
    signed: (x, decimals) => (x === null ? "–" : (x < 0 ? "" : "+") + x.toFixed(decimals)),
    interval: (low, high, decimals) => {
      if (low === null || high === null) return "–";
      while (low.toFixed(decimals) === high.toFixed(decimals) && low !== high && decimals < 8) decimals++;
      return `[${fixed(low, decimals)}, ${fixed(high, decimals)}]`;
    },
    p: (x) => {
      if (x === null) return "–";
      if (x >= 0.9995) return "1";
      return x < 0.0005 ? "<.001" : x.toFixed(3).replace(/^0/, "");
    },
    percent: (x) => (x > 0 && x < 0.005 ? "<1%" : x < 1 && x > 0.995 ? ">99%" : `${(100 * x).toFixed(0)}%`),
    count: (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`,
    tick: (x) => String(+x.toPrecision(6)).replace("-", "−"),
  };

  // ---- what there is
  const unique = (values) => [...new Set(values)];
  const cellOf = (testset, metric) => data.cells.find((c) => c.testset === testset && c.metric === metric);
  const metricsOf = (testset) => data.cells.filter((c) => c.testset === testset);
  const cell = () => cellOf(state.testset, state.metric);
  const index = new Map();
  data.cells.forEach((c, k) => {
    c.place = new Map(c.systems.map((system, i) => [system.name, i]));
    for (const row of c.tests) index.set(`${k} ${row[0]} ${row[1]} ${row[2]}`, row);
    c.pairs = c.pairs.map(([a, b, margin, detectable, doubt, plans, dots, [side, size, low, high, state, tone, surely, interval, text]]) =>
      ({ a, b, margin, detectable, doubt, plans, dots, told: { side, size, low, high, state, tone, surely, interval, text } }));
    c.pairOf = new Map(c.pairs.map((pair) => [`${pair.a} ${pair.b}`, pair]));
  });
  // the test of B - A, whichever way round it was made
  const testOf = (c, a, b, method) => {
    const k = data.cells.indexOf(c), m = c.methods.indexOf(method);
    const i = c.place.get(a), j = c.place.get(b);
    const found = index.get(`${k} ${i} ${j} ${m}`);
    const turned = found ? null : index.get(`${k} ${j} ${i} ${m}`);
    if (!found && !turned) return null;
    // won: 1 where B is better, -1 where A is, 0 undecided, null without p
    const [, , , delta, adjusted, low, high, won] = found ?? turned;
    const minus = (x) => (x === null ? null : -x);
    return found ? { delta, adjusted, low, high, won } : { delta: -delta, adjusted, low: minus(high), high: minus(low), won: minus(won) };
  };
  const pairOf = (c, a, b) => {
    const i = c.place.get(a), j = c.place.get(b);
    return c.pairOf.get(`${i} ${j}`) ?? c.pairOf.get(`${j} ${i}`) ?? null;
  };
  // where (A, B) is in a list of all pairs of the names, and whether it is there as (B, A)
  const pairIn = (names, a, b) => {
    const i = names.indexOf(a), j = names.indexOf(b), first = Math.min(i, j), second = Math.max(i, j);
    if (first < 0 || i === j) return null;
    return { at: first * names.length - (first * (first + 1)) / 2 + second - first - 1, turned: i > j };
  };
  // numbers of some bytes each, see `packed` of report/page_numbers.py
  const unpacked = (text, width, low, high) => {
    const bytes = atob(text), missing = 256 ** width - 1;
    return Float64Array.from({ length: bytes.length / width }, (_, i) => {
      let code = 0;
      for (let k = width - 1; k >= 0; k--) code = 256 * code + bytes.charCodeAt(width * i + k);
      return code === missing ? NaN : (low * (missing - 1 - code) + high * code) / (missing - 1);
    });
  };
  const system = (c, name) => c.systems[c.place.get(name)];

  // ---- changing it
  const settle = () => {
    const testsets = unique(data.cells.map((c) => c.testset));
    if (!testsets.includes(state.testset)) state.testset = testsets[0];
    const cells = metricsOf(state.testset);
    if (!cells.some((c) => c.metric === state.metric)) {
      state.metric = (cells.find((c) => !c.neutral && !c.people) ?? cells[0]).metric;
    }
    const c = cell();
    if (!c.methods.includes(state.test)) state.test = c.lead;
    const names = c.systems.map((one) => one.name);
    if (names.length > 1) {
      if (!names.includes(state.b) || !names.includes(state.a) || state.a === state.b) {
        const { baseline } = data;
        if (names.length === 2 && c.pairs.length) {
          [state.a, state.b] = [names[c.pairs[0].a], names[c.pairs[0].b]];
        } else if (names.includes(baseline)) {
          [state.a, state.b] = [baseline, names.find((name) => name !== baseline)];
        } else [state.b, state.a] = names;
      }
    } else [state.a, state.b] = [names[0], names[0]];
  };
  const write = () => {
    const words = new URLSearchParams();
    for (const [name, letter] of Object.entries(LETTERS)) if (state[name]) words.set(letter, state[name]);
    history.replaceState(null, "", `#${words}`);
  };
  const read = () => {
    const words = new URLSearchParams(location.hash.slice(1));
    let found = false;
    for (const [name, letter] of Object.entries(LETTERS)) {
      if (words.has(letter)) { state[name] = words.get(letter); found = true; }
    }
    return found;
  };
  const tell = (what) => { for (const listener of listeners) listener(what); };
  const set = (changes, keep = false) => {
    // A and B stay different
    if (changes.a && changes.a === state.b && !changes.b) changes.b = state.a;
    if (changes.b && changes.b === state.a && !changes.a) changes.a = state.b;
    Object.assign(state, changes);
    if (!keep) state.range = null;
    settle();
    write();
    tell(changes);
  };
  addEventListener("hashchange", () => { if (read()) { settle(); tell({}); } });

  read();
  settle();
  return { data, state, set, on: (listener) => listeners.push(listener), make, fill, field, said, unique,
    cell, metricsOf, testOf, pairOf, pairIn, unpacked, system };
})();

// ---- the boxes on top
(() => {
  const { state, set, make, fill, field, data, unique } = page;
  const holder = document.getElementById("switch");
  const boxes = {};
  const box = (name, text) => {
    boxes[name] = make("select", "");
    boxes[name].id = `choose-${name}`;
    boxes[name].addEventListener("change", () => set({ [name]: boxes[name].value }));
    return field(text, boxes[name]);
  };
  const swap = make("button", "", "⇄");
  swap.type = "button";
  swap.setAttribute("aria-label", "exchange A and B");
  swap.addEventListener("click", () => set({ a: state.b, b: state.a }));
  const labels = { testset: box("testset", "test set"), metric: box("metric", "metric"), test: box("test", "test"),
    a: box("a", "A"), b: box("b", "B") };
  const refresh = () => {
    const c = page.cell();
    const names = c.systems.map((one) => [one.name, one.name]);
    fill(boxes.testset, unique(data.cells.map((one) => one.testset)).map((t) => [t, t]), state.testset);
    fill(boxes.metric, page.metricsOf(state.testset).map((one) => [one.metric, one.name]), state.metric);
    fill(boxes.test, c.methods.map((m) => [m, m]), state.test);
    fill(boxes.a, names, state.a);
    fill(boxes.b, names, state.b);
    for (const [name, label] of Object.entries(labels)) label.hidden = boxes[name].options.length < 2;
    swap.hidden = names.length < 2;
  };
  holder.append(labels.testset, labels.metric, labels.test, labels.a, swap, labels.b);
  holder.hidden = false;
  refresh();
  page.on(refresh);
})();
