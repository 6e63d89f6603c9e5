// Sorting and filtering of the tables. Without it the page shows everything.
(() => {
  "use strict";

  function sortKey(row, column) {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  }

  function compare(a, b, numeric) {
    if (!numeric) return a.localeCompare(b, "en", { numeric: true, sensitivity: "base" });
    return Number(a) - Number(b);
  }

  function sortBy(header) {
    const table = header.closest("table");
    const body = table.tBodies[0];
    const column = header.cellIndex;
    const numeric = header.classList.contains("number");
    // Numbers are most often looked at from the largest down.
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const direction = header.getAttribute("aria-sort") === first ? other : first;
    const sign = direction === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => ({ row, key: sortKey(row, column) }));
    rows.sort((a, b) => {
      // Missing values stay at the end, whichever way the others go.
      if (!a.key || !b.key) return (a.key ? 0 : 1) - (b.key ? 0 : 1);
      return sign * compare(a.key, b.key, numeric);
    });
    body.append(...rows.map(({ row }) => row));
    for (const one of table.tHead.rows[0].cells) {
      if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
    }
    header.setAttribute("aria-sort", direction);
  }

  for (const header of document.querySelectorAll("th[aria-sort]")) {
    header.querySelector("button").addEventListener("click", () => sortBy(header));
  }

  const form = document.querySelector("form.filters");
  if (form) {
    const rows = [...document.querySelectorAll("#results-table tbody tr")];
    const panels = [...document.querySelectorAll(".panel")];
    const count = document.querySelector(".count");

    const filter = () => {
      const text = form.elements.dataset.value.trim().toLowerCase();
      const chosen = ["task", "model", "encoding"].map((name) => [name, form.elements[name].value]);
      const named = (one) => one.dataset.dataset.toLowerCase().includes(text);
      const task = form.elements.task.value;
      for (const row of rows) {
        row.hidden = !(named(row) && chosen.every(([name, value]) => !value || row.dataset[name] === value));
      }
      for (const panel of panels) {
        panel.hidden = !(named(panel) && (!task || panel.dataset.task === task));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = `${shown} of ${rows.length} rows`;
    };

    for (const kind of ["input", "change"]) form.addEventListener(kind, filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    form.hidden = false;
    filter();
  }

  // A closed part of the page would be missing on paper.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
