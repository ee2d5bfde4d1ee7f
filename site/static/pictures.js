// Figures of tables: the league as a heat map with questions that lead to three schemes, and the cells of the agreement
// and reproduction pages as tiles. All are HTML tables. Keys move between cells, and a cell in focus or under the pointer
// shows its values. The page contains the league's data, written by tools/generators/evaluation.py.
"use strict";
{
  const PINS = 4, SHADES = 9, ADVISED = 3, WEAK = 2, FLAT = 7;

  const h = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children.filter((child) => child !== undefined && child !== ""));
    return element;
  };
  const svg = (name, attributes = {}, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const option = ([value, name]) => h("option", { value }, name);
  const select = (name, values) => h("select", { ariaLabel: name }, option(["", "any"]), ...values.map((one) => option([one, one])));
  const toggle = (name, title, changed) => {
    const button = h("button", { type: "button", className: "chip", title, ariaPressed: "false" }, name);
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      changed(button.ariaPressed === "true");
    });
    return button;
  };

  // The box with the values of a cell, next to it, or at the bottom of a phone's screen.

  const box = h("div", { className: "detail", hidden: true });
  addEventListener("keydown", ({ key }) => { if (key === "Escape") box.hidden = true; });
  let target;
  // Keys scroll to the selected cell, so the box must follow.
  addEventListener("scroll", () => {
    if (target && target === document.activeElement && !box.hidden) put();
    else box.hidden = true;
  }, { capture: true, passive: true });

  const show = (cell, content) => {
    target = cell;
    box.replaceChildren(...content);
    box.hidden = false;
    put();
  };
  const put = () => {
    const [cell, own] = [target.getBoundingClientRect(), box.getBoundingClientRect()];
    const below = cell.bottom + own.height + 12 < innerHeight;
    box.style.setProperty("--x", `${Math.max(8, Math.min(cell.left + cell.width / 2 - own.width / 2, document.documentElement.clientWidth - own.width - 8))}px`);
    box.style.setProperty("--y", `${Math.max(8, below ? cell.bottom + 6 : cell.top - own.height - 6)}px`);
  };

  /** Lets the box follow pointer and focus within `place`; `about` returns its content for an element. */
  const follow = (place, about) => {
    if (!box.isConnected) document.querySelector("article").append(box);
    const shown = (event) => {
      const cell = event.target.closest?.("[data-cell]");
      if (cell && place.contains(cell)) show(cell, about(cell));
    };
    // `pointermove` instead of `pointerover`: scrolling a cell under a resting pointer must not select it.
    place.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch" && (box.hidden || event.target.closest("[data-cell]") !== target)) shown(event);
    });
    place.addEventListener("focusin", shown);
    for (const event of ["pointerleave", "focusout"]) place.addEventListener(event, () => { box.hidden = true; });
  };

  /** Lets keys move between the elements of `rows()`, one of which is reachable with Tab. */
  const keys = (place, rows) => {
    const reach = (element) => {
      for (const other of place.querySelectorAll('[data-cell][tabindex="0"]')) other.tabIndex = -1;
      element.tabIndex = 0;
    };
    place.addEventListener("focusin", ({ target }) => { if (target.dataset.cell !== undefined) reach(target); });
    place.addEventListener("keydown", (event) => {
      const grid = rows();
      const row = grid.findIndex((cells) => cells.includes(event.target));
      if (row < 0) return;
      const column = grid[row].indexOf(event.target);
      const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], Home: [0, -column], End: [0, 1e6] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const cells = grid[Math.min(Math.max(row + down, 0), grid.length - 1)];
      const next = cells[Math.min(Math.max(column + right, 0), cells.length - 1)];
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    return () => { const first = rows()[0]?.[0]; if (first && !place.querySelector('[data-cell][tabindex="0"]')) first.tabIndex = 0; };
  };

  const term = (name, ...value) => h("div", {}, h("span", {}, name), " ", h("b", {}, ...value));
  const plural = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

  // The league.

  /** The data with derived values: columns with their number of ranks, names of entries. */
  const readLeague = (script) => {
    const data = JSON.parse(script.textContent);
    for (const entry of data.entries) entry.full = entry.per ? `${entry.name} (${entry.per}s)` : entry.name;
    data.column = (criterion, family) => {
      const { title, head, unit, doc } = data.criteria[criterion];
      const about = data.families[family];
      const cells = data.values[criterion]?.[family];
      return cells && {
        criterion, family, unit, cells, title, doc: about ? `${about.title}: ${about.measures}` : doc,
        head: family ? about.title : head, of: cells.filter(Boolean).length,
      };
    };
    return data;
  };
  const valueOf = ({ unit }, [text]) => (unit ? `${text} ${unit}` : text);
  const placeOf = ({ of }, [, rank, first, last]) => `place ${rank}${first < last ? ` (${first}–${last})` : ""} of ${of}`;
  const worse = ({ of }, [, rank]) => (of > 1 ? (rank - 1) / (of - 1) : 0);

  const heat = (data, table) => {
    const state = { view: "", fits: new Set(), words: "", sort: 0, reverse: false, pinned: [], values: false };
    const columns = () => (state.view
      ? ["", ...Object.keys(data.families)].map((family) => data.column(state.view, family)).filter(Boolean).map((one) => (one.family ? one : { ...one, head: "whole suite" }))
      : Object.keys(data.criteria).map((criterion) => data.column(criterion, "")));
    let shown = columns(), rows = [];

    const chosen = () => {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (entry) => [...state.fits].every((key) => entry.fits.includes(key))
        && words.every((word) => `${entry.full} ${entry.label} ${entry.asks.join(" ")}`.toLowerCase().includes(word));
      const cell = (index) => shown[state.sort]?.cells[index];
      const order = (a, b) => {
        if (state.sort < 0) return state.reverse ? b - a : a - b;
        const [one, other] = [cell(a), cell(b)];
        return Number(!one) - Number(!other) || (one ? (state.reverse ? other[1] - one[1] : one[1] - other[1]) : 0) || a - b;
      };
      const all = data.entries.map((_, index) => index);
      const found = all.filter((index) => fits(data.entries[index]) && !state.pinned.includes(index)).sort(order);
      return { rows: [...state.pinned, ...found], found: all.filter((index) => fits(data.entries[index])).length };
    };

    // Controls.
    const view = h("select", { ariaLabel: "Columns" }, option(["", "all criteria, whole suite"]), ...Object.entries(data.criteria)
      .filter(([key]) => Object.keys(data.values[key]).length > 1).map(([key, { title }]) => option([key, title])));
    const words = h("input", { type: "search", placeholder: "name" });
    const values = h("select", { ariaLabel: "Numbers" }, option(["", "place"]), option(["values", "value"]));
    const output = h("output");
    const chips = Object.entries(data.capabilities).map(([key, [where, name, title]]) => ({
      key, where, button: toggle(name, title, (on) => { state.fits[on ? "add" : "delete"](key); render(); }),
    }));
    const controls = h("div", { className: "filter", role: "group", ariaLabel: "The picture" },
      h("label", {}, "Columns", view), h("label", {}, "Numbers", values), h("label", {}, "Scheme", words));
    const limits = h("div", { className: "filter limits", role: "group", ariaLabel: "What the network can do" },
      ...[...new Set(chips.map(({ where }) => where))].map((where) => h("span", {}, h("b", {}, `${where}:`), ...chips.filter((one) => one.where === where).map(({ button }) => button))), output);
    view.addEventListener("change", () => set({ view: view.value, sort: 0, reverse: false }));
    values.addEventListener("change", () => set({ values: Boolean(values.value) }));
    words.addEventListener("input", () => set({ words: words.value }));

    const shades = h("span", { className: "shades", ariaHidden: "true" }, ...Array.from({ length: SHADES }, (_, shade) => h("i", { className: `h${shade}` })));
    const legend = h("p", { className: "legend" }, h("span", {}, "first ", shades, " last of all entries"), h("span", {}, "A heading sorts. A name pins its row: two to four are compared."));
    const comparison = h("section", { className: "comparison", hidden: true, ariaLabel: "Comparison" });
    const wrapper = table.closest(".table-wrapper") ?? table;
    wrapper.before(controls, limits, legend, comparison);
    table.className = "heat league";
    table.setAttribute("role", "grid");
    table.ariaLabel = "The league: schemes by criteria";

    const pin = (index) => {
      const pinned = state.pinned.includes(index) ? state.pinned.filter((one) => one !== index) : [...state.pinned, index].slice(-PINS);
      set({ pinned });
    };
    const set = (changes) => {
      Object.assign(state, changes);
      shown = columns();
      render();
    };

    const headOf = (name, column, label) => {
      const sorted = state.sort === column;
      const button = h("button", { type: "button", className: "sort", tabIndex: -1, ariaLabel: label }, h("span", {}, name));
      button.dataset.cell = "";
      button.addEventListener("click", () => set(sorted ? { reverse: !state.reverse } : { sort: column, reverse: false }));
      const head = h("th", { scope: "col" }, button);
      if (sorted) head.setAttribute("aria-sort", state.reverse ? "descending" : "ascending");
      return head;
    };
    const rowOf = (index) => {
      const entry = data.entries[index], pinned = state.pinned.includes(index);
      const button = h("button", { type: "button", className: "pin", tabIndex: -1, ariaPressed: String(pinned) }, entry.name, entry.per && h("small", {}, ` ${entry.per}s`));
      button.dataset.cell = "";
      const cells = shown.map((column) => {
        const found = column.cells[index];
        const cell = h("td", { tabIndex: -1 }, found ? (state.values ? found[0].split(" ±")[0] : String(found[1])) : "–");
        cell.dataset.cell = "";
        if (found) cell.className = `h${Math.round(worse(column, found) * (SHADES - 1))}`;
        cell.ariaLabel = `${entry.full}, ${column.head}: ${found ? `${valueOf(column, found)}, ${placeOf(column, found)}` : "not measured"}`;
        return cell;
      });
      const row = h("tr", { className: pinned ? `pinned p${state.pinned.indexOf(index)}` : "" }, h("th", { scope: "row" }, button), ...cells);
      row.dataset.entry = index;
      return row;
    };
    const render = () => {
      const before = [...(table.querySelectorAll("[data-cell]"))].indexOf(document.activeElement);
      const at = before >= 0 && { entry: document.activeElement.closest("tr").dataset.entry, column: document.activeElement.closest("td, th").cellIndex };
      const found = chosen();
      rows = found.rows;
      table.tHead.replaceChildren(h("tr", {}, headOf("scheme", -1, "scheme"), ...shown.map((column, index) => headOf(column.head, index, column.head))));
      table.tBodies[0].replaceChildren(...rows.map(rowOf));
      table.classList.toggle("values", state.values);
      output.value = found.found === data.entries.length ? plural(found.found, "entry").replace("entrys", "entries") : `${found.found} of ${data.entries.length} entries`;
      if (at) {
        const row = at.entry === undefined ? table.tHead.rows[0] : table.querySelector(`tr[data-entry="${at.entry}"]`);
        const cell = row?.cells[at.column];
        (cell?.matches("[data-cell]") ? cell : cell?.querySelector("[data-cell]"))?.focus({ preventScroll: true });
      }
      settle();
      compare();
    };

    const about = (cell) => {
      const index = cell.closest("tr").dataset.entry, column = shown[cell.closest("td, th").cellIndex - 1];
      if (index === undefined) return column ? [h("b", {}, column.title), h("p", {}, column.doc)] : [h("b", {}, "scheme")];
      const entry = data.entries[index];
      if (!column) return [h("b", {}, entry.full), h("p", {}, entry.does), term("state:", entry.state), term("asks:", entry.asks.join("; "))];
      const found = column.cells[index];
      return [h("b", {}, entry.full), h("p", {}, column.family ? `${column.title}, ${column.head}` : column.title),
        found ? h("p", { className: "value" }, valueOf(column, found)) : h("p", {}, "not measured"), ...(found ? [h("p", {}, placeOf(column, found)), rangeOf(column, found)] : [])];
    };
    /** The ranks that the intervals allow, on a line from first to last. */
    const rangeOf = ({ of }, [, rank, first, last]) => {
      const x = (place) => 4 + (of > 1 ? (place - 1) / (of - 1) : 0) * 192;
      return svg("svg", { class: "range", viewBox: "0 0 200 10", "aria-hidden": "true" }, svg("line", { x1: 4, x2: 196, y1: 5, y2: 5, class: "track" }),
        svg("line", { x1: x(first), x2: x(last), y1: 5, y2: 5, class: "span" }), svg("circle", { cx: x(rank), cy: 5, r: 4 }));
    };

    /** Compares entries in a column: -1 if the first is better with disjoint intervals, 1 if the second, else 0. */
    const between = (column, a, b) => {
      const [one, other] = [column.cells[a], column.cells[b]];
      if (!one || !other) return undefined;
      const [[low, high], [below, above]] = [one, other].map(([text]) => { const [mean, half = 0] = text.split(" ± ").map(Number); return [mean - half, mean + half]; });
      return low <= above && below <= high ? 0 : Math.sign(one[1] - other[1]);
    };
    const compare = () => {
      comparison.hidden = state.pinned.length < 2;
      if (comparison.hidden) return;
      const names = state.pinned.map((index) => data.entries[index].full);
      const items = state.pinned.map((index, place) => {
        const entry = data.entries[index];
        const button = h("button", { type: "button", className: "chip" , ariaLabel: `Unpin ${entry.full}` }, "✕");
        button.addEventListener("click", () => pin(index));
        return h("li", {}, h("i", { className: `dot p${place}` }), h("a", { href: entry.page }, entry.full), button, h("small", {}, `asks: ${entry.asks.join("; ")}`));
      });
      const sentence = state.pinned.length === 2 ? h("p", {}, ...sum(...state.pinned, names)) : "";
      comparison.replaceChildren(h("ul", {}, ...items), sentence);
      comparison.append(profile(names));
    };
    const sum = (a, b, names) => {
      const of = { "-1": [], 0: [], 1: [] };
      for (const column of shown) of[between(column, a, b)]?.push(column.head);
      const part = (name, list) => [h("b", {}, name), ` is better in ${list.length ? `${list.length}: ${list.join(" · ")}` : "none"}. `];
      return [...part(names[0], of["-1"]), ...part(names[1], of[1]), of[0].length ? `Intervals overlap in ${of[0].length}: ${of[0].join(" · ")}.` : ""];
    };
    /** Draws a line through the ranks of each pinned entry in all columns; rank 1 is at the left. */
    const profile = (names) => {
      const width = Math.max(comparison.querySelector("ul").clientWidth || 600, 240), label = Math.min(190, width * 0.36), step = 28, top = 22;
      const x = (column, place) => label + 14 + (column.of > 1 ? (place - 1) / (column.of - 1) : 0) * (width - label - 28);
      const y = (row) => top + step * (row + 0.5);
      const drawn = svg("svg", { class: "profile", width, height: top + step * shown.length + 4, role: "img", "aria-label": `Places of ${names.join(", ")} in ${plural(shown.length, "column")}` });
      const text = (content, attributes) => { const one = svg("text", attributes); one.textContent = content; return one; };
      drawn.append(text("first", { x: label + 10, y: 13 }), text("last", { x: width - 10, y: 13, "text-anchor": "end" }));
      shown.forEach((column, row) => drawn.append(text(column.head, { x: label, y: y(row) + 4, "text-anchor": "end" }), svg("line", { x1: label + 14, x2: width - 14, y1: y(row), y2: y(row), class: "track" })));
      state.pinned.forEach((index, place) => {
        const shift = (place - (state.pinned.length - 1) / 2) * 5;
        const points = shown.map((column, row) => column.cells[index] && { column, cell: column.cells[index], y: y(row) + shift }).filter(Boolean);
        const group = svg("g", { class: `p${place}` }, svg("polyline", { points: points.map(({ column, cell, y }) => `${x(column, cell[1])},${y}`).join(" ") }));
        for (const { column, cell, y } of points) {
          const title = svg("title");
          title.textContent = `${names[place]}, ${column.head}: ${valueOf(column, cell)}, ${placeOf(column, cell)}`;
          group.append(svg("line", { x1: x(column, cell[2]), x2: x(column, cell[3]), y1: y, y2: y, class: "span" }), svg("circle", { cx: x(column, cell[1]), cy: y, r: 5 }, title));
        }
        drawn.append(group);
      });
      return drawn;
    };

    const settle = keys(table, () => [...table.rows].map((row) => [...row.querySelectorAll("[data-cell]")]));
    follow(table, about);
    table.addEventListener("click", ({ target }) => {
      const row = target.closest("tr[data-entry]");
      if (row && target.closest(".pin")) pin(Number(row.dataset.entry));
    });
    table.addEventListener("keydown", (event) => {
      if (!["Enter", " "].includes(event.key) || !event.target.matches("td")) return;
      event.preventDefault();
      pin(Number(event.target.closest("tr").dataset.entry));
    });
    addEventListener("resize", compare);
    render();

    /** Applies a selection from another part of the page. */
    return (changes) => {
      if (changes.fits) for (const { key, button } of chips) button.ariaPressed = String(changes.fits.has(key));
      if (changes.view !== undefined) view.value = changes.view;
      words.value = "";
      set({ ...changes, words: "" });
      (controls).scrollIntoView();
    };
  };

  /** Five questions, and three entries that fit the answers. */
  const advise = (data, place, open) => {
    const limit = (keys, name) => [keys, name];
    const questions = [
      ["Can the edge write a label into every packet?", [limit("", "yes"), limit("no labels", "no")]],
      ["What can a core port remember of flows or users?", [limit("", "a record of each"), limit("table", "a table of limited size"), limit("no flow state", "nothing"), limit("no flow state,fifo", "nothing, and it has one FIFO queue")]],
      ["Should packets of ECN hosts be marked, not dropped?", [limit("", "does not matter"), limit("marks", "yes")]],
      ["What matters most?", Object.entries(data.criteria).map(([key, { title }]) => limit(key, title))],
      ["In which situation?", []],
    ].map(([question, answers]) => ({ question, field: h("select", { ariaLabel: question }, ...answers.map(option)) }));
    const [edge, core, hosts, goal, situation] = questions.map(({ field }) => field);
    const answer = h("div", { className: "advice-answer", ariaLive: "polite" });
    const situations = () => {
      const before = situation.value;
      situation.replaceChildren(option(["", "all of the suite"]), ...Object.keys(data.families).filter((family) => data.values[goal.value][family]).map((family) => option([family, data.families[family].title])));
      if ([...situation.options].some(({ value }) => value === before)) situation.value = before;
    };
    const weak = (index) => data.guards.filter((criterion) => criterion !== goal.value).map((criterion) => data.column(criterion, ""))
      .filter(({ cells, of }) => cells[index] && cells[index][1] > 0.75 * of);

    const update = () => {
      situations();
      const fits = new Set([edge, core, hosts].flatMap(({ value }) => value.split(",")).filter(Boolean));
      const column = data.column(goal.value, situation.value);
      const able = data.entries.map((_, index) => index).filter((index) => column.cells[index] && [...fits].every((key) => data.entries[index].fits.includes(key)));
      const sorted = able.map((index) => ({ index, weak: weak(index) }))
        .sort((a, b) => Number(a.weak.length >= WEAK) - Number(b.weak.length >= WEAK) || column.cells[a.index][1] - column.cells[b.index][1] || a.index - b.index);
      const schemes = new Set();
      const best = sorted.filter(({ index }) => !schemes.has(data.entries[index].name) && schemes.add(data.entries[index].name)).slice(0, ADVISED);
      const cards = best.map(({ index, weak }) => {
        const entry = data.entries[index], cell = column.cells[index];
        const strong = data.guards.filter((key) => key !== goal.value).map((key) => data.column(key, "")).filter(({ cells, of }) => cells[index] && cells[index][1] <= 0.25 * of);
        const named = (list) => list.map((one) => `${one.title} (${valueOf(one, one.cells[index])}, ${placeOf(one, one.cells[index])})`).join("; ");
        return h("li", {}, h("a", { href: entry.page }, entry.full), h("p", {}, entry.does), h("ul", {},
          h("li", {}, `${column.title}${column.family ? ` in “${column.head}”` : ""}: `, h("b", {}, valueOf(column, cell)), `, ${placeOf(column, cell)}`),
          strong.length ? h("li", {}, `Also among the first quarter: ${named(strong)}`) : undefined,
          weak.length ? h("li", {}, `But among the last quarter: ${named(weak)}`) : undefined,
          h("li", {}, `Asks: ${entry.asks.join("; ")}. State: ${entry.state}`)));
      });
      const button = h("button", { type: "button", className: "chip" }, "Compare them in the picture");
      button.addEventListener("click", () => open({ fits, view: situation.value ? goal.value : "", sort: 0, reverse: false, pinned: best.map(({ index }) => index) }));
      const guards = data.guards.filter((key) => key !== goal.value).map((key) => data.criteria[key].title).join(", ");
      answer.replaceChildren(
        h("p", {}, `${able.length} of ${data.entries.length} entries can do it. The best in what matters most come first; those among the last quarter by two or more of ${guards} come after all others.`),
        best.length ? h("ol", {}, ...cards) : h("p", {}, "None: change an answer."), best.length > 1 ? button : "");
    };
    const form = h("form", { className: "advice" }, ...questions.map(({ question, field }) => h("label", {}, question, field)));
    form.addEventListener("change", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    place.replaceChildren(form, answer);
    update();
  };

  const league = () => {
    const script = document.querySelector("script.league");
    if (!script) return;
    const data = readLeague(script);
    const open = heat(data, script.nextElementSibling.querySelector("table") ?? script.nextElementSibling);
    const place = document.querySelector(".advice-place");
    if (place) advise(data, place, open);
  };

  // Tiles.

  const STATES = [
    { is: /^(reproduced|yes)/, key: "holds", sign: "✓" },
    { is: /^agrees/, key: "near", sign: "≈" },
    { is: /^(inconclusive|–)/, key: "open", sign: "?" },
    { is: /^(differs|no$|✗)/, key: "differs", sign: "✕" },
    { is: /^/, key: "none", sign: "" },
  ];
  const stateOf = (word) => STATES.findIndex(({ is }) => is.test(word));
  const words = (row, column) => row.cells[column]?.textContent.trim() ?? "";

  /**
   * Draws a tile for each row of tables with a verdict column. Rows and columns of the figure are values of `fields`
   * (functions of a row, by name), initially the first one and `columns`. `measures` are other columns, by index, that
   * can colour the tiles.
   */
  const tiles = ({ place, tables, verdict, fields, columns, measures = [] }) => {
    const heads = (row) => [...row.closest("table").tHead.rows[0].cells].map((head) => head.textContent.trim());
    const all = tables.flatMap((table) => [...table.tBodies[0].rows]).filter((row) => !words(row, 0).startsWith("–"));
    const names = Object.keys(fields);
    const choice = (label, values, chosen) => { const field = h("select", { ariaLabel: label }, ...values.map(option)); field.value = chosen; return { label, field }; };
    const pairs = names.map((name) => [name, name]);
    const choices = [choice("Rows", pairs, names[0]), choice("Columns", [["", "none"], ...pairs], matchMedia("(max-width: 46em)").matches ? "" : columns)];
    if (measures.length) choices.push(choice("Colour", [["", "verdict"], ...measures], ""));
    const [down, across, colour] = choices.map(({ field }) => field);
    const legend = h("p", { className: "legend" }), picture = h("table", { className: "tiles heat" });
    const controls = h("div", { className: "filter", role: "group", ariaLabel: "Picture of the rows" }, ...choices.map(({ label, field }) => h("label", {}, label, field)));
    place(h("figure", { className: "picture" }, controls, legend, h("div", { className: "table-wrapper" }, picture)));

    const wordOf = (row) => {
      if (!colour?.value) return words(row, verdict(row));
      const cell = words(row, Number(colour.value));
      return cell === "–" || !cell ? "–" : cell.includes("✗") ? "✗ differs" : "yes";
    };
    const told = (word) => ({ yes: "agrees", no: "differs", "✗ differs": "differs", "–": "not compared" })[word] ?? word;
    const draw = () => {
      const shown = all.filter((row) => !row.hidden).map((row, index) => ({ row, index, word: wordOf(row), state: stateOf(wordOf(row)) }));
      const of = (name) => (name ? fields[name] : () => "");
      const distinct = (name) => [...new Set(shown.map(({ row }) => of(name)(row)))];
      const count = (name) => shown.filter(({ row }) => of(across.value)(row) === name).length;
      const columns = distinct(across.value);
      if (columns.length < FLAT) columns.sort((a, b) => count(b) - count(a));
      const tile = ({ row, word, state }) => {
        const button = h("button", { type: "button", className: `tile ${STATES[state].key}`, tabIndex: -1, ariaLabel: `${told(word)}: ${heads(row).slice(0, Math.max(1, verdict(row) > 4 ? verdict(row) : 1)).map((_, at) => words(row, at)).join(", ")}` }, STATES[state].sign);
        button.dataset.cell = "";
        button.row = row;
        return button;
      };
      picture.replaceChildren(
        h("thead", {}, h("tr", {}, h("td"), ...columns.map((name) => h("th", { scope: "col" }, h("span", {}, name))))),
        h("tbody", {}, ...distinct(down.value).map((name) => {
          const own = shown.filter(({ row }) => of(down.value)(row) === name);
          const holds = own.filter(({ state }) => STATES[state].key === "holds").length;
          const cells = columns.map((column) => h("td", {}, h("div", {}, ...own.filter(({ row }) => of(across.value)(row) === column).sort((a, b) => a.state - b.state || a.index - b.index).map(tile))));
          return h("tr", {}, h("th", { scope: "row" }, name, h("small", {}, ` ${holds} of ${own.length}`)), ...cells);
        })));
      picture.classList.toggle("flat", columns.length < FLAT);
      const counts = Map.groupBy ? Map.groupBy(shown, ({ word }) => told(word)) : new Map();
      legend.replaceChildren(...[...counts].sort(([, [a]], [, [b]]) => a.state - b.state).map(([word, list]) => h("span", {}, h("i", { className: `tile ${STATES[list[0].state].key}`, ariaHidden: "true" }, STATES[list[0].state].sign), `${word}: ${list.length}`)));
      settle();
    };
    const settle = keys(picture, () => [...picture.rows].map((row) => [...row.querySelectorAll("[data-cell]")]).filter((cells) => cells.length));
    follow(picture, ({ row }) => [h("b", {}, words(row, 0)), ...heads(row).slice(1).map((head, at) => [head, words(row, at + 1)]).filter(([, text]) => text).map(([head, text]) => term(`${head}:`, text.length > 240 ? `${text.slice(0, 240)} …` : text))]);
    picture.addEventListener("click", ({ target }) => {
      const { row } = target.closest("[data-cell]") ?? {};
      if (!row || matchMedia("(pointer: coarse)").matches) return;
      row.tabIndex = -1;
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "center" });
    });
    controls.addEventListener("change", draw);
    document.addEventListener("filtered", draw);
  };

  globalThis.pictures = { h, select, league, tiles };
}
