"use strict";
// Tables sort by click or keyboard, and filter by the values of their first columns.
(() => {
  const number = (text) => {
    const found = text.replace("<", "").match(/[-+]?\d*\.?\d+/);
    return found ? parseFloat(found[0]) : null;
  };

  const compare = (column, word) => (a, b) => {
    const x = a.cells[column].firstChild?.textContent ?? "";
    const y = b.cells[column].firstChild?.textContent ?? "";
    if (word) return x.localeCompare(y, "en", { numeric: true });
    const p = number(x), q = number(y);
    if (p === null || q === null) return (p === null) - (q === null);
    return p - q;
  };

  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const head = heads[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const wordy = head.classList.contains("word");
    const order = compare(column, wordy);
    const missing = (row) => !wordy && number(row.cells[column].textContent) === null;
    const rows = [...body.rows].sort((a, b) => {
      // what is missing stays at the end in either direction
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      return down ? order(b, a) : order(a, b);
    });
    body.append(...rows);
  };

  const addFilters = (table) => {
    const columns = Number(table.dataset.filters);
    const rows = [...table.tBodies[0].rows];
    const chosen = new Map();
    const bar = document.createElement("div");
    bar.className = "controls";
    for (let column = 0; column < columns; column++) {
      const values = [...new Set(rows.map((row) => row.cells[column].textContent))];
      if (values.length < 2 || values.length > 200) continue;
      const label = document.createElement("label");
      label.textContent = table.tHead.rows[0].cells[column].textContent;
      const select = document.createElement("select");
      for (const value of ["", ...values]) {
        const option = document.createElement("option");
        option.value = value;
        option.textContent = value || "all";
        select.append(option);
      }
      select.addEventListener("change", () => {
        chosen.set(column, select.value);
        for (const row of rows) {
          row.hidden = [...chosen].some(([c, v]) => v && row.cells[c].textContent !== v);
        }
      });
      label.append(select);
      bar.append(label);
    }
    if (bar.childElementCount) table.closest(".scroll").before(bar);
  };

  // what is folded up is printed, too
  addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((part) => { part.open = part.dataset.printed = true; }));
  addEventListener("afterprint", () => document.querySelectorAll("details[data-printed]").forEach((part) => { part.open = false; delete part.dataset.printed; }));

  for (const table of document.querySelectorAll("table.data")) {
    addFilters(table);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, column));
      head.textContent = "";
      head.setAttribute("aria-sort", "none");
      head.append(button);
    });
  }
})();
