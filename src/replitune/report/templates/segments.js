// The browser of segments. Text from data reaches the page as text nodes only.
(() => {
  const holder = document.getElementById("segment-data");
  if (!holder) return;
  const sets = JSON.parse(holder.textContent);
  const root = document.getElementById("browser");
  const { state, make, field, fill, said } = page;
  const FIRST = 5, MORE = 20;
  const ORDER = 4;
  let shown = FIRST;

  const choice = (values, id) => {
    const select = make("select", "");
    select.id = id;
    fill(select, values);
    select.addEventListener("change", () => refresh(true));
    return select;
  };
  const entry = (type, id) => {
    const input = make("input", "");
    input.type = type;
    input.id = id;
    if (type === "number") input.min = 0;
    input.addEventListener("input", () => refresh(true));
    return input;
  };

  const words = (text) => {
    const found = text.split(/\s+/).filter(Boolean);
    // a script without spaces is compared by character
    return found.length < 3 && text.length > 12 ? [...text].filter((c) => c.trim()) : found;
  };
  const joint = (text, tokens) => (text.split(/\s+/).filter(Boolean).length === tokens.length ? " " : "");
  const grams = (tokens, n) => {
    const counts = new Map();
    for (let i = 0; i + n <= tokens.length; i++) {
      const key = tokens.slice(i, i + n).join("\u0001");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  };
  // won: inside an n-gram of a reference that the other output has less often;
  // extra: a word that neither a reference nor the other output has
  const classes = (tokens, other, references) => {
    const kinds = tokens.map(() => "");
    for (let n = 1; n <= ORDER; n++) {
      const theirs = grams(other, n);
      const right = references.map((reference) => grams(reference, n));
      const seen = new Map();
      for (let i = 0; i + n <= tokens.length; i++) {
        const key = tokens.slice(i, i + n).join("\u0001");
        const nth = (seen.get(key) ?? 0) + 1;
        seen.set(key, nth);
        const most = Math.max(0, ...right.map((counts) => counts.get(key) ?? 0));
        if (nth <= most && nth > (theirs.get(key) ?? 0)) {
          for (let k = i; k < i + n; k++) kinds[k] = "won";
        } else if (n === 1 && most === 0 && !theirs.has(key)) kinds[i] = "extra";
      }
    }
    return kinds;
  };
  const marked = (text, otherText, referenceTexts) => {
    const tokens = words(text);
    const gap = joint(text, tokens);
    const kinds = classes(tokens, words(otherText), referenceTexts.map(words));
    const paragraph = make("p", "");
    for (let i = 0; i < tokens.length;) {
      let end = i + 1;
      while (end < tokens.length && kinds[end] === kinds[i]) end++;
      const run = tokens.slice(i, end).join(gap);
      paragraph.append(kinds[i] ? make("mark", kinds[i], run) : run, end < tokens.length ? gap : "");
      i = end;
    }
    if (!tokens.length) paragraph.append("(empty)");
    return paragraph;
  };

  const sorting = choice([["gain", "gain of B"], ["loss", "loss of B"], ["change", "difference"], ["order", "text order"]], "segment-sort");
  const find = entry("search", "segment-find");
  const shortest = entry("number", "segment-min");
  const longest = entry("number", "segment-max");
  const documents = choice([], "segment-document");
  const status = make("p", "status");
  status.setAttribute("role", "status");
  const list = make("div", "");
  list.id = "segment-list";
  const more = make("button", "more", "more");
  more.type = "button";
  more.addEventListener("click", () => { shown += MORE; refresh(false); });
  const link = make("p", "status");
  const documentField = field("document", documents);
  // the run of each system whose output is shown: the median run, or one that was chosen
  const runBoxes = { a: choice([], "segment-run-a"), b: choice([], "segment-run-b") };
  const runFields = { a: field("output of A", runBoxes.a), b: field("output of B", runBoxes.b) };

  const current = () => sets.find((set) => set.testset === state.testset);
  const places = (set) => ["a", "b"].map((side) => set.systems.findIndex(([name]) => name === state[side]));
  let chosenFor = null;
  const choose = () => {
    const set = current();
    if (!set) return;
    const key = [set.testset, state.a, state.b].join("\u0001");
    if (key !== chosenFor) {
      places(set).forEach((place, i) => {
        const side = i ? "b" : "a", runs = set.replicas[place];
        fill(runBoxes[side], [["", `median (${set.systems[place]?.[1] ?? ""})`], ...(runs ?? []).map((run) => [run, run])], "");
        runFields[side].hidden = !runs;
      });
      const ids = [...new Set(set.rows.map((row) => row[1]))];
      fill(documents, [["", "all"], ...ids.map((id) => [id, id])], "");
      documentField.hidden = !set.documents;
      link.replaceChildren();
      if (set.rows.length < set.all) link.append(`The ${set.rows.length} of ${set.all} segments on which systems differ most are in this page. `);
      const detailed = Object.keys(set.details).length;
      if (set.replicas.some(Boolean) && detailed < set.rows.length) link.append(`All outputs are in this page for the ${detailed} segments that differ most. `);
      if (set.link) {
        const anchor = make("a", "", set.link);
        anchor.href = set.link.split("/").map(encodeURIComponent).join("/");
        link.append("All segments: ", anchor);
      }
      chosenFor = key;
    }
  };

  // text and score of one side: of the chosen run if the page has it, else of the median run
  const output = (set, row, place, side) => {
    const [index, , , , outputs, scores] = row;
    const run = runBoxes[side].value, every = set.details[index]?.[place][0];
    if (run && every) {
      const number = set.replicas[place].indexOf(run);
      const found = every.find(([, , runs]) => runs.includes(number));
      return { text: found[0], score: found[1], run };
    }
    return { text: outputs[place], score: scores[place], run: set.systems[place][1], instead: run && run !== set.systems[place][1] };
  };
  // by how much B is ahead on a segment, over all runs
  const gain = (row) => (why.measured().higher ? 1 : -1) * (why.difference(row) ?? 0);

  const allRuns = (set, row, places) => {
    const every = set.details[row[0]];
    const made = every ? places.filter((place) => every[place][0]) : [];
    if (!made.length) return null;
    const parts = made.map((place) => {
      const [runs] = every[place];
      const items = runs.map(([text, score, of]) => make("li", "", make("span", "times", `${of.length} ×`), make("span", "", text || "(empty)"),
        make("span", "quiet", ` ${score.toFixed(set.decimals)}`)));
      return make("div", "", make("span", "label", `${set.systems[place][0]}: ${said.count(runs.length, "different output")} of ${said.count(set.replicas[place].length, page.cell().kind)}`), make("ul", "outputs", ...items));
    });
    return make("details", "", make("summary", "", "all outputs"), make("div", "pair", ...parts));
  };
  // A derivation: a box for each rule, containing those of what fills its gaps, in the order of the source.
  const side = (text) => make("span", "", ...text.split(" ").flatMap((word, i) => [
    i ? " " : "", /^X[12]$/.test(word) ? make("b", "gap", word) : word,
  ]));
  const boxes = (parts) => make("ul", "derivation", ...parts.map(([, , source, target, inside]) =>
    make("li", "", side(source), " → ", side(target), ...(inside.length ? [boxes(inside)] : []))));
  const derived = (set, row, pair) => {
    const told = set.details[row[0]];
    const parts = told ? pair.filter((place) => told[place][1]).map((place) =>
      make("div", "", make("span", "label", set.systems[place].join(" ")), boxes(told[place][1]))) : [];
    return parts.length ? make("details", "", make("summary", "", "derivation"), ...parts) : null;
  };
  const segment = (set, row) => {
    const [index, doc, source, references] = row;
    const [a, b] = places(set), A = output(set, row, a, "a"), B = output(set, row, b, "b");
    const card = make("article", "segment");
    const where = doc === null ? `segment ${index}` : `segment ${index}, ${doc}`;
    const heads = [make("span", "", where), make("span", "", `${set.metric} ${A.score.toFixed(set.decimals)} → ${B.score.toFixed(set.decimals)}`)];
    const c = why.measured(), delta = c && why.difference(row);
    if (delta !== null) heads.push(make("span", "all", `${set.replicas.some(Boolean) ? `all ${c.kind}s, ` : ""}${c.name}: ${said.signed(delta, c.decimals)}`));
    card.append(make("header", "", ...heads));
    const part = (label, paragraph) => make("div", "", make("span", "label", label), paragraph);
    const grid = make("div", "pair");
    const reference = part(references.length > 1 ? "references" : "reference", make("p", "", references.join("\n")));
    if (source === null) reference.className = "full";
    else grid.append(part("source", make("p", "", source)));
    const name = (side, system, found) => `${side}: ${system} ${found.run}${found.instead ? " (the median; this run's output is not in the page)" : ""}`;
    grid.append(
      reference,
      part(name("A", state.a, A), marked(A.text, B.text, references)),
      part(name("B", state.b, B), marked(B.text, A.text, references)),
    );
    card.append(grid);
    const every = allRuns(set, row, [a, b]);
    if (every) card.append(every);
    const derivation = derived(set, row, [a, b]);
    if (derivation) card.append(derivation);
    return card;
  };

  const refresh = (fromStart) => {
    if (fromStart) shown = FIRST;
    const set = current();
    const there = set && places(set).every((place) => place >= 0);
    list.hidden = more.hidden = !there;
    if (!there) { status.textContent = `There are no texts of these systems on ${state.testset}.`; return; }
    const wanted = find.value.toLowerCase();
    const low = Number(shortest.value || 0), high = Number(longest.value || Infinity);
    const [a, b] = places(set);
    const c = why.measured();
    const rows = set.rows.filter((row) => {
      if (documents.value && row[1] !== documents.value) return false;
      if (state.range && c) {
        const delta = why.difference(row);
        if (delta === null || delta < state.range[0] || delta > state.range[1]) return false;
      }
      if (low > 0 || high < Infinity) {
        const length = words(row[3][0]).length;
        if (length < low || length > high) return false;
      }
      if (!wanted) return true;
      const texts = [row[2] ?? "", ...row[3], row[4][a], row[4][b]];
      return texts.some((text) => text.toLowerCase().includes(wanted));
    });
    const how = sorting.value;
    if (how !== "order" && c) {
      const by = new Map(rows.map((row) => [row, gain(row)]));
      const key = { gain: (row) => -by.get(row), loss: (row) => by.get(row), change: (row) => -Math.abs(by.get(row)) }[how];
      rows.sort((x, y) => key(x) - key(y));
    }
    const part = rows.slice(0, shown);
    list.replaceChildren(...part.map((row) => segment(set, row)));
    const range = state.range ? " with a difference in the chosen range" : "";
    status.textContent = `${part.length} of ${said.count(rows.length, "segment")}${range}`;
    more.hidden = rows.length <= shown;
    more.textContent = `${Math.min(MORE, rows.length - shown)} more`;
  };

  root.append(
    make("div", "controls", field("sort by", sorting), field("with the text", find), field("at least (words)", shortest),
      field("at most (words)", longest), documentField, runFields.a, runFields.b),
    make("p", "status", "Marked: ", make("mark", "won", "part of an n-gram of the reference that the other output lacks"),
      ", ", make("mark", "extra", "a word that neither the reference nor the other output has"), "."),
    status, list, more, link,
  );
  root.hidden = false;
  choose();
  refresh(true);
  page.on(() => { choose(); refresh(true); });
})();
