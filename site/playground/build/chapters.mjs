// Extracts the page's text about a scheme from its chapter in docs/schemes/: three sentences, and the equation.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SENTENCES = 3;
/** A sentence with fewer words is a title. */
const WORDS = 7;

/** The text between two marks of the documentation generator. */
function generated(chapter, what) {
  return [...chapter.matchAll(new RegExp(`<!-- generated:${what} -->\\n(.*?)<!-- end -->`, "gs"))].map((found) => found[1].trim());
}

/** The paragraphs of a section, without figures, lists and tables. */
function prose(chapter, title) {
  const section = chapter.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
  const paragraphs = section.replace(/```.*?```/gs, "").replace(/<!--.*?-->/gs, "").split(/\n\s*\n/).slice(1);
  return paragraphs.map((text) => text.trim()).filter((text) => text && !/^[|#>-]|^\d+\./.test(text));
}

/** Splits a paragraph into sentences, at full stops followed by a capital letter. */
function sentences(text) {
  return text.replace(/\s+/g, " ").split(/(?<=[\w)"`]{2}[.!?]"?)\s+(?=[A-Z`*])/);
}

/** Text without links and emphasis. */
function plain(text) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*([^*`]+)\*/g, "$1");
}

/** The rule in the table row that begins with a key. */
function rule(chapter, name, key) {
  for (const table of generated(chapter, "rules \\w+")) {
    for (const line of table.split("\n").filter((line) => line.startsWith("|"))) {
      const cells = line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim());
      if (cells[0] === key) return plain(cells[1]);
    }
  }
  throw new Error(`site/playground/equations.json: ${name}: its chapter has no rule ${key}`);
}

/** `{ text, equations, source }` of a scheme; `keys` name its equations. */
export function explanation(docs, name, keys) {
  const chapter = readFileSync(join(docs, "schemes", `${name}.md`), "utf8");
  const [head] = generated(chapter, `head ${name}`);
  if (!head) throw new Error(`docs/schemes/${name}.md has no head`);
  const [summary, source] = head.split(/\n\s*\n/);
  const found = [summary, ...prose(chapter, "Idea"), ...prose(chapter, "Purpose")].map(plain).flatMap(sentences);
  const equations = keys.map((key) => rule(chapter, name, key));
  const [rules] = generated(chapter, "rules \\w+");
  if (keys.length === 0) equations.push(plain(sentences(rules.split(/\n\s*\n/)[0])[0]));
  const last = found.map((text, index) => (text.split(" ").length >= WORDS ? index : -1)).filter((index) => index >= 0)[SENTENCES - 1];
  return { text: found.slice(0, (last ?? found.length) + 1).join(" "), equations, source: sentences(source)[0] };
}
