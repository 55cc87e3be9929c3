"use strict";
// What the whole page shows: test set, metric, pair (A, B), and the segments of some range of differences.
// It is kept in the URL's fragment.
const page = (() => {
  const data = JSON.parse(document.getElementById("numbers").textContent);
  const state = { testset: "", metric: "", reference: "", a: "", b: "", range: null };
  const LETTERS = { testset: "t", metric: "m", reference: "r", a: "a", b: "b" };
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
    count: (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`,
  };

  // ---- what there is
  const unique = (values) => [...new Set(values)];
  const cellOf = (testset, metric) => data.cells.find((c) => c.testset === testset && c.metric === metric);
  const metricsOf = (testset) => data.cells.filter((c) => c.testset === testset);
  const cell = () => cellOf(state.testset, state.metric);
  for (const c of data.cells) {
    c.place = new Map(c.systems.map((system, i) => [system.name, i]));
    c.pairOf = new Map(c.pairs.map(([a, b, text]) => [`${a} ${b}`, { a, b, text, names: [a, b].map((i) => c.systems[i].name) }]));
  }
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

  // ---- changing it
  const settle = () => {
    const testsets = unique(data.cells.map((c) => c.testset));
    if (!testsets.includes(state.testset)) state.testset = testsets[0];
    const cells = metricsOf(state.testset);
    if (!cells.some((c) => c.metric === state.metric)) {
      state.metric = (cells.find((c) => !c.neutral && !c.people) ?? cells[0]).metric;
    }
    const c = cell();
    const names = c.systems.map((one) => one.name);
    if (names.length > 1) {
      if (!names.includes(state.b) || !names.includes(state.a) || state.a === state.b) {
        const { baseline } = data;
        if (names.length === 2 && c.pairs.length) {
          [state.a, state.b] = [names[c.pairs[0][0]], names[c.pairs[0][1]]];
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
    cell, metricsOf, pairOf, pairIn, unpacked };
})();
