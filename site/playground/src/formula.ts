// Typesets the equations of the chapters.

import { h } from "./dom";

const LETTERS: Record<string, string> = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", tau: "τ", rho: "ρ", "N^": "N̂", dT: "Δt", dp: "Δp", dA: "ΔA",
};
const SIGNS: [RegExp, string][] = [[/>=/g, "≥"], [/<=/g, "≤"], [/ ?\* ?/g, " · "], [/ - /g, " − "], [/(?<=[\w)])-(?=[\w(])/g, " − "], [/-(?=log)/g, "−"], [/-\+/g, "∓"]];

/** A sentence in which text in backticks is an equation. */
export function withFormulas(text: string): HTMLElement {
  const parts = text.split(/`([^`]*)`/).map((part, index) => (index % 2 ? formula(part) : part));
  return h("p", { class: "equation" }, ...parts);
}

function formula(text: string): HTMLElement {
  const signs = SIGNS.reduce((line, [sign, better]) => line.replace(sign, better), text);
  const parts = signs.split(/([A-Za-z]\w*'?)/).map((part, index) => (index % 2 ? symbol(part) : part));
  return h("span", { class: "formula" }, ...parts);
}

/** A name; the part after the first underscore becomes a subscript. Words stay upright. */
function symbol(name: string): HTMLElement {
  const [stem = "", ...below] = name.split("_");
  if (stem.length > 5) return h("span", {}, name);
  const letter = LETTERS[stem] ?? stem;
  const isWord = letter.length > 2 && below.length === 0;
  return h(isWord ? "span" : "i", {}, letter, below.length > 0 && h("sub", {}, below.map((part) => LETTERS[part] ?? part).join(" ")));
}
