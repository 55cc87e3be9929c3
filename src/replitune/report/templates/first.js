// The first screen: which of its pictures is shown, and what the sentence of the chosen pair says. The
// pictures are drawn already; without JavaScript, all are shown.
(() => {
  const { state, set, make, fill, field, data, unique, cell, pairOf } = page;
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
  const labels = { testset: box("testset", "test set"), metric: box("metric", "metric"), reference: box("reference", "compared with"), a: box("a", "A"), b: box("b", "B") };

  const download = (name, type, content) => {
    const link = make("a", "");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // the picture alone, with the colours that it has on the page
  const standalone = (figure) => {
    const svg = figure.querySelector(".wide svg").cloneNode(true), style = getComputedStyle(document.documentElement);
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: "var(--paper)" })) paper.setAttribute(key, value);
    svg.prepend(paper);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    for (const [key, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, "font-family": "DejaVu Sans, Verdana, sans-serif" })) svg.setAttribute(key, value);
    return svg.outerHTML.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };
  const png = (text, name) => {
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", "");
      [canvas.width, canvas.height] = [3 * image.width, 3 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(`${name}.png`, "", blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };
  for (const figure of document.querySelectorAll("figure.first")) {
    const save = ["SVG", "PNG"].map((kind) => {
      const button = make("button", "", `save as ${kind}`);
      button.type = "button";
      button.addEventListener("click", () => {
        const text = standalone(figure);
        if (kind === "SVG") download(`${figure.dataset.about}.svg`, "image/svg+xml", text);
        else png(text, figure.dataset.about);
      });
      return button;
    });
    figure.querySelector("figcaption").append(" ", make("span", "save", ...save));
  }

  let said = null;
  const sentences = () => {
    if (document.readyState === "loading") return new Map();
    said ??= new Map([...document.querySelectorAll("#pairs .verdicts li")].map((item) => [item.dataset.of, item]));
    return said;
  };
  const refresh = () => {
    const c = cell(), names = c.systems.map((one) => [one.name, one.name]);
    fill(boxes.testset, unique(data.cells.map((one) => one.testset)).map((t) => [t, t]), state.testset);
    fill(boxes.metric, page.metricsOf(state.testset).map((one) => [one.metric, one.name]), state.metric);
    fill(boxes.a, names, state.a);
    fill(boxes.b, names, state.b);
    for (const name of ["testset", "metric", "a", "b"]) labels[name].hidden = boxes[name].options.length < 2;
    swap.hidden = names.length < 2;
    const fits = ({ dataset }) => (dataset.testset ?? state.testset) === state.testset && (dataset.metric ?? state.metric) === state.metric;
    const figures = [...document.querySelectorAll("figure.first")], found = figures.filter(fits), shown = found.length ? found : figures.slice(0, 1);
    const references = unique(shown.map((figure) => figure.dataset.reference).filter(Boolean)), first = shown[0]?.dataset.reference;
    const reference = references.includes(state.reference) ? state.reference : first;
    for (const figure of figures) figure.hidden = !shown.includes(figure) || figure.dataset.reference !== reference;
    fill(boxes.reference, references.map((name) => [name, `compared with ${name}`]), reference);
    labels.reference.hidden = references.length < 2;
    for (const line of document.querySelectorAll(".headline")) {
      if (line.dataset.testset === state.testset) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
    const pair = pairOf(c, state.a, state.b), key = pair && JSON.stringify([c.testset, c.metric, ...pair.names]);
    const item = key && sentences().get(key);
    const text = item ? item.querySelector(".sentence").textContent : pair ? `${c.name}: ${pair.text}.` : names.length > 1 ? `${state.b} and ${state.a}: not tested by ${c.name}.` : "";
    for (const holder of document.querySelectorAll(".said")) holder.textContent = text;
  };
  for (const line of document.querySelectorAll(".headline button")) {
    line.addEventListener("click", () => set({ testset: line.closest(".headline").dataset.testset }));
  }
  document.getElementById("where").append(labels.testset, labels.metric, labels.reference);
  // pairs are chosen where their segments are, and so is the metric if one picture has all
  document.addEventListener("DOMContentLoaded", () => {
    const holder = document.getElementById("pair"), own = document.querySelectorAll("figure.first[data-metric]").length > 1;
    if (holder) { holder.append(...(own ? [] : [labels.metric]), labels.a, swap, labels.b); holder.hidden = false; }
    else if (!own) labels.metric.remove();
    refresh();
  });
  refresh();
  page.on(refresh);
  performance.mark("first-picture");
})();
