// Tables with at least 8 rows can be sorted by a click on a heading. Tables with at least 12 rows can be filtered by
// words and by verdict, those with at least 30 rows also by each column with few values.
// The page of reproductions, which has several tables of verdicts, has a filter for all of them at the top.
// Figures (pictures.js) show the same rows and follow the same filters.
"use strict";
{
  const SORTED = 8, FILTERED = 12, CHOSEN = 30, BROAD = 10, CHOICES = 20, LONGEST = 40;

  const { h, select } = pictures;
  const text = (row, column) => row.cells[column]?.textContent.trim() ?? "";

  /** The number at the start of a cell, such as 0.841 in "0.841 ± 0.003 · 16"; undefined if there is none. */
  const number = (cell) => {
    const found = cell.match(/^[−–+-]?\d[\d\u202f ]*(\.\d+)?(e[+-]?\d+)?/i);
    return found ? Number(found[0].replace(/[\u202f ]/g, "").replace(/^[−–]/, "-")) : undefined;
  };

  /** Sorts numbers by size and words alphabetically; empty cells are last in both directions. */
  const sort = (table, column, ascending) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, cell: text(row, column) }));
    const empty = ({ cell }) => cell === "" || cell === "–";
    const numeric = rows.every((one) => empty(one) || number(one.cell) !== undefined);
    const order = (a, b) => (numeric ? number(a.cell) - number(b.cell) : a.cell.localeCompare(b.cell, "en", { numeric: true }));
    rows.sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : ascending ? order(a, b) : order(b, a)));
    body.append(...rows.map(({ row }) => row));
  };

  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = h("button", { type: "button", className: "sort" }, ...head.childNodes);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, column, ascending);
      });
      head.replaceChildren(button);
    });
  };

  /** In tables with many columns, puts the rank below the number, as in "0.841 ± 0.003 · 16 (15–17)". */
  const narrow = (table) => {
    table.classList.add("broad");
    for (const cell of table.tBodies[0].querySelectorAll("td")) {
      const [value, place] = cell.childElementCount <= 1 ? cell.textContent.split(" · ") : [];
      if (place) cell.replaceChildren(value, " ", h("small", {}, place));
    }
  };

  const column = (table, name) => [...table.tHead.rows[0].cells].findIndex((head) => head.textContent.trim() === name);
  const verdictColumn = (table) => column(table, "verdict");
  const verdictOf = (table, row) => text(row, verdictColumn(table)).match(/^[a-z ]+/i)?.[0].trim() ?? "";

  /** Fields for columns of a long table that have few values; verdicts have a separate field. */
  const choices = (table) => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < CHOSEN) return [];
    return [...table.tHead.rows[0].cells].flatMap((head, column) => {
      const values = [...new Set(rows.map((row) => text(row, column)))].filter(Boolean).sort();
      const fits = values.length > 1 && values.length <= Math.min(CHOICES, rows.length / 3) && values.every((one) => one.length <= LONGEST);
      return fits && column !== verdictColumn(table) ? [{ column, name: head.textContent.trim(), field: select(head.textContent.trim(), values) }] : [];
    });
  };

  /** Fields for words, for a verdict, and for columns of few values. */
  const filter = (tables, name, changed) => {
    const words = h("input", { type: "search", placeholder: "words" });
    const verdicts = [...new Set(tables.filter((table) => verdictColumn(table) >= 0)
      .flatMap((table) => [...table.tBodies[0].rows].map((row) => verdictOf(table, row))))].filter(Boolean).sort();
    const verdict = select("Verdict", verdicts);
    const columns = tables.length === 1 ? choices(tables[0]) : [];
    const output = h("output");
    const place = h("div", { className: "filter", role: "group", ariaLabel: name }, h("label", {}, "Rows with", words));
    if (verdicts.length > 1) place.append(h("label", {}, "Verdict", verdict));
    place.append(...columns.map((one) => h("label", {}, one.name, one.field)), output);
    place.addEventListener("input", () => changed());
    return { place, words, verdict, columns, output };
  };

  const apply = (table, fields) => {
    const wanted = fields.flatMap(({ words }) => words.value.toLowerCase().split(/\s+/)).filter(Boolean);
    const verdicts = fields.map(({ verdict }) => verdict.value).filter(Boolean);
    const columns = fields.flatMap((one) => one.columns).filter(({ field }) => field.value);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => content.includes(word))
        || !verdicts.every((one) => verdictOf(table, row) === one)
        || !columns.every(({ column, field }) => text(row, column) === field.value);
      if (!row.hidden) shown++;
    }
    return [shown, table.tBodies[0].rows.length];
  };

  /** Figures of a page's claims, by paper and kind, or of each table's cells, by columns with few values. */
  const drawTiles = (judged, all, own) => {
    if (all) {
      const section = (row) => row.closest("section").querySelector("h2").firstChild.textContent;
      const kind = (row) => text(row, 0).match(/^\S+ \(([^)]*)\):/)?.[1].replace("hard, ", "") ?? "the paper's own";
      pictures.tiles({ place: (figure) => all.place.after(figure), tables: judged, verdict: () => verdictColumn(judged[0]), columns: "kind of claim", fields: { paper: section, "kind of claim": kind } });
    }
    for (const [table, { columns: chosen, place }] of own) {
      const verdict = column(table, "agrees");
      const fields = chosen.filter((one) => one.column !== verdict).map((one) => [one.name, (row) => text(row, one.column)]);
      if (verdict < 0 || fields.length < 2) continue;
      const differs = (at) => [...table.tBodies[0].rows].some((row) => text(row, at).includes("✗"));
      const measures = [...table.tHead.rows[0].cells].map((head, at) => [String(at), head.textContent.trim()]).filter(([at]) => differs(Number(at)));
      const [columns] = fields.slice(1).findLast(([, of]) => new Set([...table.tBodies[0].rows].map(of)).size === 2) ?? fields[1];
      pictures.tiles({ place: (figure) => place.after(figure), tables: [table], verdict: () => verdict, fields: Object.fromEntries(fields), columns, measures });
    }
  };

  const start = () => {
    pictures.league();
    const tables = [...document.querySelectorAll("article table:not(.heat)")].filter((table) => table.tHead && table.tBodies[0]);
    tables.filter((table) => table.tBodies[0].rows.length >= SORTED).forEach(makeSortable);
    tables.filter((table) => table.tHead.rows[0].cells.length >= BROAD).forEach(narrow);
    const judged = tables.filter((table) => verdictColumn(table) >= 0);
    const told = ([shown, total]) => (shown === total ? `${total} rows` : `${shown} of ${total} rows`);
    const own = new Map();
    let all;
    const update = () => {
      let sum = [0, 0];
      for (const table of tables) {
        const fields = [own.get(table), judged.includes(table) ? all : undefined].filter(Boolean);
        if (!fields.length) continue;
        const counts = apply(table, fields);
        if (own.has(table)) own.get(table).output.value = told(counts);
        if (judged.includes(table)) sum = sum.map((one, index) => one + counts[index]);
      }
      if (all) all.output.value = told(sum);
      document.dispatchEvent(new Event("filtered"));
    };
    for (const table of tables.filter((one) => one.tBodies[0].rows.length >= FILTERED)) {
      const fields = filter([table], "Filter of the table below", update);
      own.set(table, fields);
      (table.closest(".table-wrapper") ?? table).before(fields.place);
    }
    if (judged.length > 2) {
      all = filter(judged, "Filter of all claims of this page", update);
      all.place.classList.add("all");
      all.place.prepend(h("b", {}, "All claims of this page"));
      document.querySelector("article h1 ~ section").before(all.place);
    }
    drawTiles(judged, all, own);
    update();
  };

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
}
