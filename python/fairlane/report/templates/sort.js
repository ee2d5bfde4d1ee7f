// Sorts tables of numbers by the clicked column: ascending, descending, then the original order.
"use strict";

for (const table of document.querySelectorAll("table.numbers")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const values = rows.map((row) => value(row.cells[column]));
    if (new Set(values).size < 2) return;
    const button = document.createElement("button");
    button.type = "button";
    if (head.querySelector("a")) {
      button.setAttribute("aria-label", `sort by ${head.textContent.trim()}`);
    } else {
      button.append(...head.childNodes);
    }
    head.append(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const order = rows.map((_, index) => index);
      if (next) order.sort((a, b) => compared(values[a], values[b], next === "ascending" ? 1 : -1) || a - b);
      body.append(...order.map((index) => rows[index]));
    });
  });
}

// The number at the start of a cell, or else its text; null if it is empty.
function value(cell) {
  if (cell.dataset.sort) return Number(cell.dataset.sort);
  const text = cell.textContent.trim();
  if (text === "" || text === "–") return null;
  const number = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?![\w:])/i.exec(text);
  return number ? Number(number[0]) : text;
}

// Empty cells are last in both directions; texts come after numbers.
function compared(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}
