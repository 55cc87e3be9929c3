// The browser of segments. Text from data reaches the page as text nodes only.
(() => {
  const holder = document.getElementById("segment-data");
  if (!holder) return;
  const sets = JSON.parse(holder.textContent);
  const root = document.getElementById("browser");
  const PAGE = 20;
  const ORDER = 4;
  let shown = PAGE;

  const make = (tag, className, ...content) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...content);
    return element;
  };
  const field = (text, control) => make("label", "", text, control);
  const fill = (select, values) => {
    select.replaceChildren(...values.map(([value, text]) => {
      const option = make("option", "", text);
      option.value = value;
      return option;
    }));
  };
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

  const testset = choice(sets.map((set, i) => [i, set.testset]), "segment-testset");
  const first = choice([], "segment-a");
  const second = choice([], "segment-b");
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
  more.addEventListener("click", () => { shown += PAGE; refresh(false); });
  const link = make("p", "status");
  const documentField = field("document", documents);

  const choose = () => {
    const set = sets[testset.value];
    const names = set.systems.map(([name, replica], i) => [i, `${name} (${replica})`]);
    fill(first, names);
    fill(second, names);
    second.value = Math.min(1, names.length - 1);
    const ids = [...new Set(set.rows.map((row) => row[1]))];
    fill(documents, [["", "all"], ...ids.map((id) => [id, id])]);
    documentField.hidden = !set.documents;
    link.replaceChildren();
    if (set.rows.length < set.all) link.append(`The ${set.rows.length} of ${set.all} segments on which systems differ most are in this page. `);
    if (set.link) {
      const anchor = make("a", "", set.link);
      anchor.href = set.link.split("/").map(encodeURIComponent).join("/");
      link.append("All segments: ", anchor);
    }
  };

  const gain = (set, row) => {
    const delta = row[5][second.value] - row[5][first.value];
    return set.higher ? delta : -delta;
  };

  const segment = (set, row) => {
    const [index, doc, source, references, outputs, scores] = row;
    const a = Number(first.value), b = Number(second.value);
    const delta = scores[b] - scores[a];
    const card = make("article", "segment");
    const where = doc === null ? `segment ${index}` : `segment ${index}, ${doc}`;
    const said = (score) => score.toFixed(set.decimals);
    const sums = `${set.metric} ${said(scores[a])} → ${said(scores[b])} (${delta < 0 ? "" : "+"}${said(delta)})`;
    card.append(make("header", "", make("span", "", where), make("span", "", sums)));
    const part = (label, paragraph) => make("div", "", make("span", "label", label), paragraph);
    const grid = make("div", "pair");
    const reference = part(references.length > 1 ? "references" : "reference", make("p", "", references.join("\n")));
    if (source === null) reference.className = "full";
    else grid.append(part("source", make("p", "", source)));
    grid.append(
      reference,
      part(`A: ${set.systems[a].join(" ")}`, marked(outputs[a], outputs[b], references)),
      part(`B: ${set.systems[b].join(" ")}`, marked(outputs[b], outputs[a], references)),
    );
    card.append(grid);
    return card;
  };

  const refresh = (fromStart) => {
    if (fromStart) shown = PAGE;
    const set = sets[testset.value];
    const wanted = find.value.toLowerCase();
    const low = Number(shortest.value || 0), high = Number(longest.value || Infinity);
    const a = Number(first.value), b = Number(second.value);
    const rows = set.rows.filter((row) => {
      if (documents.value && row[1] !== documents.value) return false;
      const length = words(row[3][0]).length;
      if (length < low || length > high) return false;
      if (!wanted) return true;
      const texts = [row[2] ?? "", ...row[3], row[4][a], row[4][b]];
      return texts.some((text) => text.toLowerCase().includes(wanted));
    });
    const how = sorting.value;
    if (how === "gain") rows.sort((x, y) => gain(set, y) - gain(set, x));
    else if (how === "loss") rows.sort((x, y) => gain(set, x) - gain(set, y));
    else if (how === "change") rows.sort((x, y) => Math.abs(gain(set, y)) - Math.abs(gain(set, x)));
    const part = rows.slice(0, shown);
    list.replaceChildren(...part.map((row) => segment(set, row)));
    status.textContent = `${part.length} of ${rows.length} segments`;
    more.hidden = rows.length <= shown;
  };

  testset.addEventListener("change", () => { choose(); refresh(true); });
  root.append(
    make("div", "controls", ...(sets.length > 1 ? [field("test set", testset)] : []), field("A", first), field("B", second),
      field("sort by", sorting), field("with the text", find), field("at least (words)", shortest),
      field("at most (words)", longest), documentField),
    make("p", "status", "Marked: ", make("mark", "won", "part of an n-gram of the reference that the other output lacks"),
      ", ", make("mark", "extra", "a word that neither the reference nor the other output has"), "."),
    status, list, more, link,
  );
  root.hidden = false;
  choose();
  refresh(true);
})();
