// Pictures, drawn from the numbers of the page by Observable Plot, and saved from it. Each
// replaces a static picture, made by replitune, in its figure of the page.
const pictures = (() => {
  const { data, state, set, make, said } = page;
  const known = new Map();
  const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"];
  const colour = (i) => COLOURS[i % COLOURS.length];

  // ---- saving
  const download = (name, type, content) => {
    const link = make("a", "");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // the picture alone, with the colours that it has on the page
  const standalone = (figure) => {
    const svg = figure.querySelector(".canvas svg").cloneNode(true);
    const style = getComputedStyle(document.documentElement);
    svg.querySelectorAll('[aria-label="tip"], [data-mark="tip"], .brush').forEach((element) => element.remove());
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: "var(--paper)" })) paper.setAttribute(key, value);
    svg.prepend(paper);
    svg.setAttribute("color", "var(--ink)");
    return svg.outerHTML
      .replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim())
      .replaceAll("currentColor", style.getPropertyValue("--ink").trim());
  };
  const png = (figure, name) => {
    const image = new Image(), { width, height } = figure.querySelector(".canvas svg").getBoundingClientRect();
    image.onload = () => {
      const canvas = make("canvas", "");
      [canvas.width, canvas.height] = [2 * width, 2 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(`${name}.png`, "", blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(figure))}`;
  };
  const csv = (rows) => {
    const quote = (x) => (x === null || x === undefined ? "" : /[",\n]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
    const keys = Object.keys(rows[0] ?? {});
    return [keys, ...rows.map((row) => keys.map((key) => row[key]))].map((row) => `${row.map(quote).join(",")}\n`).join("");
  };
  const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "[": "{[}", "]": "{]}",
    "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "−": "$-$", "–": "--", "±": "$\\pm$" };
  const latex = (rows, caption) => {
    const escape = (x) => String(x ?? "–").replace(/[\\&%$#_{}~^[\]<>|−–±]/g, (c) => LATEX[c] ?? `\\${c}`);
    const keys = Object.keys(rows[0] ?? {});
    const line = (cells) => `${cells.map(escape).join(" & ")} \\\\\n`;
    const spec = keys.map((key) => (rows.every((row) => typeof row[key] !== "string") ? "r" : "l")).join("");
    return `% needs \\usepackage{booktabs}\n\\begin{table}[t]\n\\centering\n\\begin{tabular}{${spec}}\n\\toprule\n${line(keys)}` +
      `\\midrule\n${rows.map((row) => line(keys.map((key) => row[key]))).join("")}\\bottomrule\n\\end{tabular}\n` +
      `\\caption{${escape(caption)}}\n\\end{table}\n`;
  };
  const printAlone = (figure) => {
    document.body.classList.add("alone");
    for (let e = figure; e && e !== document.body; e = e.parentElement) e.classList.add("kept");
    print();
    document.body.classList.remove("alone");
    document.querySelectorAll(".kept").forEach((e) => e.classList.remove("kept"));
  };
  const toolbar = (figure, id, found) => {
    const name = [state.testset, state.metric, id].join(".").replace(/[^\p{L}\p{N}._+-]/gu, "_");
    const ways = {
      SVG: () => download(`${name}.svg`, "image/svg+xml", standalone(figure)),
      PNG: () => png(figure, name),
      PDF: () => printAlone(figure),
      CSV: () => download(`${name}.csv`, "text/csv", csv(found().rows)),
      LaTeX: () => download(`${name}.tex`, "text/plain", latex(found().rows, found().caption)),
    };
    const drawn = figure.querySelector(".canvas > svg") !== null;
    const buttons = Object.entries(ways).filter(([text]) => drawn || !["SVG", "PNG"].includes(text)).map(([text, way]) => {
      const button = make("button", "", text);
      button.type = "button";
      button.setAttribute("aria-label", `${text} of: ${figure.dataset.title}`);
      button.addEventListener("click", way);
      return button;
    });
    return make("div", "save", make("span", "", "save "), ...buttons);
  };

  // ---- drawing: draw(width) gives {node, caption, rows}, or null where there is nothing to see
  const show = (id) => {
    const { figure, draw } = known.get(id);
    const entry = known.get(id);
    const details = figure.closest("details");
    if (details && !details.open) return;
    figure.hidden = false;
    const width = Math.max(260, Math.floor(figure.clientWidth));
    const found = draw(width);
    figure.hidden = !found;
    if (!found) return;
    entry.found = found;
    if (found.node.tagName === "svg") {
      found.node.setAttribute("role", "img");
      found.node.setAttribute("aria-label", found.caption);
    }
    figure.querySelector(".canvas").replaceChildren(found.node);
    figure.querySelector("figcaption").replaceChildren(found.caption);
    if (!figure.querySelector(".save")) figure.append(toolbar(figure, id, () => entry.found));
  };
  const add = (id, draw, changes = null) => {
    const figure = document.getElementById(`picture-${id}`);
    if (!figure) return;
    known.set(id, { figure, draw, changes });
    show(id);
  };
  page.on((changed) => {
    const names = Object.keys(changed);
    for (const [id, { changes }] of known) {
      if (!names.length || !changes || names.some((name) => changes.includes(name))) show(id);
    }
  });
  let before = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === before) return;
    before = innerWidth;
    for (const id of known.keys()) show(id);
  });
  const STYLE = { background: "transparent", color: "var(--ink)", fontFamily: "inherit", fontSize: "12px", overflow: "visible" };
  // Plot labels the groups of its marks; screen readers should not read these labels
  const plot = (options) => {
    const node = Plot.plot({ style: STYLE, ...options });
    for (const group of node.querySelectorAll("g[aria-label]")) {
      group.dataset.mark = group.getAttribute("aria-label");
      group.removeAttribute("aria-label");
    }
    return node;
  };
  const clickable = (node, mark, rows, act) => {
    node.querySelector(`[data-mark="${mark}"]`).querySelectorAll("*").forEach((element) => {
      const i = Plot.select(element).datum(); // marks of facets are nested deeper
      if (element.tagName === "g" || rows[i] === undefined) return;
      element.style.cursor = "pointer";
      element.addEventListener("click", () => act(rows[i]));
    });
  };
  // names of at most so many letters that stay distinct: words that all begin or end with are cut first
  const elided = (names, most = 22) => {
    if (names.every((name) => name.length <= most)) return (name) => name;
    const same = (end) => {
      let k = 0;
      const at = (name, i) => name[end ? name.length - 1 - i : i];
      while (names.every((name) => k < name.length - 1 && at(name, k) === at(names[0], k))) k++;
      while (k && names.some((name) => [k - 1, k].every((i) => /[\p{L}\p{N}]/u.test(at(name, i))))) k--; // whole words
      return names.length > 1 ? k : 0;
    };
    const front = same(false), back = same(true);
    const cut = names.map((name) => (front > 2 ? "…" : name.slice(0, front)) + name.slice(front, Math.max(name.length - back, front + 1)) + (back > 2 ? "…" : back ? name.slice(-back) : ""));
    const fits = cut.map((name) => (name.length <= most ? name : `${name.slice(0, Math.ceil(most / 2) - 1)}…${name.slice(-(Math.floor(most / 2)))}`));
    const shown = new Set(fits).size === new Set(names).size ? fits : cut;
    return (name) => shown[names.indexOf(name)];
  };
  const longest = (texts) => 14 + 7.4 * Math.max(...texts.map((text) => text.length));
  const tip = { fill: "var(--paper)", stroke: "var(--line)" };

  return { add, show, plot, STYLE, clickable, colour, elided, longest, tip, COLOURS, SYMBOLS, data, said, set };
})();
