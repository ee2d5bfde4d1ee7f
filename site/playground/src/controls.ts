// The large slider, and the form: sliders, choices and the groups of users.

import { h } from "./dom";
import type { Catalogue } from "./messages";
import { short } from "./numbers";
import { cleanName, distinctNames, GROUP, GROUP_RANGES, KINDS, MOST_GROUPS, RANGES, type Group, type Range, type State } from "./state";

/** Number of steps of a logarithmic slider. */
const LOG_STEPS = 100;

type Change = (change: (state: State) => void, rebuild?: boolean) => void;

/** A setting that the large slider can change. */
interface Setting { key: string; label: string; value: number; range: Range; write: (value: number) => string; set: (state: State, value: number) => void }

function settings(state: State): Setting[] {
  const names = distinctNames(state.groups);
  const own = (index: number, key: keyof typeof GROUP_RANGES, label: string, write: (value: number) => string): Setting => ({
    key: `${key}.${index}`, label: `${label} ${names[index]}`, value: state.groups[index]![key], range: GROUP_RANGES[key], write,
    set: (s, value) => (s.groups[index]![key] = value),
  });
  const ofGroups = state.groups.flatMap(({ kind }, index) => [
    kind === "tcp" && own(index, "flows", "Connections of", String),
    kind === "udp" && own(index, "rateMbps", "Rate of", (v) => `${short(v)} Mbit/s`),
    own(index, "users", "Users like", String),
    kind !== "udp" && kind !== "call" && own(index, "rttMs", "Round trip of", (v) => `${v} ms`),
  ].filter((setting) => setting !== false));
  return [
    ...ofGroups,
    { key: "buffer", label: "Buffer of the link", value: state.bufferPackets, range: RANGES.bufferPackets, write: (v) => `${v} packets`, set: (s, v) => (s.bufferPackets = v) },
    { key: "rate", label: "Rate of the link", value: state.rateMbps, range: RANGES.rateMbps, write: (v) => `${short(v)} Mbit/s`, set: (s, v) => (s.rateMbps = v) },
  ];
}

/** Fills the large slider, with a choice of the setting that it changes. */
export function fillLarge(place: HTMLElement, state: State, change: Change): void {
  const all = settings(state);
  const usual = { tcp: "flows.0", udp: "rateMbps.0", call: "buffer", video: "rate" }[state.groups[0]!.kind];
  const main = all.find(({ key }) => key === state.main) ?? all.find(({ key }) => key === usual)!;
  const choose = h("select", { id: "main", "aria-label": "The slider moves", change: () => change((s) => (s.main = choose.value), true) },
    ...all.map(({ key, label }) => h("option", { value: key, selected: key === main.key }, label)));
  const field = slider("large", main.label, main.value, main.range, main.write, (value) => change((s) => main.set(s, value)));
  field.querySelector("label")!.classList.add("hidden");
  field.prepend(choose);
  place.replaceChildren(field);
}

/** Fills the form again; open groups stay open. */
export function fillForm(form: HTMLElement, state: State, catalogue: Catalogue, change: Change): void {
  const closed = new Set([...form.querySelectorAll<HTMLDetailsElement>("details.group:not([open])")].map((group) => group.dataset.index));
  const ms = (packets: number) => short((packets * 12) / state.rateMbps);
  const network = h("fieldset", {}, h("legend", {}, "Link"),
    slider("rate", "Rate", state.rateMbps, RANGES.rateMbps, (v) => `${short(v)} Mbit/s`, (v) => change((s) => (s.rateMbps = v))),
    slider("buffer", "Buffer", state.bufferPackets, RANGES.bufferPackets, (v) => `${v} packets, ${ms(v)} ms`, (v) => change((s) => (s.bufferPackets = v))),
    slider("links", "Links in a row", state.links, RANGES.links, String, (v) => change((s) => {
      s.links = v;
      s.link = Math.min(s.link, v);
      for (const group of s.groups) group.link = Math.min(group.link, v);
    }, true)),
    state.links > 1 && choice("link", "Pictures show", String(state.link), numbers(state.links).map((n) => [String(n), `link ${n}`]), (v) => change((s) => (s.link = Number(v)))),
  );
  const time = h("fieldset", {}, h("legend", {}, "Run"),
    slider("warmup", "Warm-up", state.warmupS, RANGES.warmupS, (v) => `${v} s`, (v) => change((s) => (s.warmupS = v))),
    slider("measure", "Measured", state.measureS, RANGES.measureS, (v) => `${v} s`, (v) => change((s) => (s.measureS = v))),
    slider("seed", "Seed", state.seed, RANGES.seed, String, (v) => change((s) => (s.seed = v))),
  );
  const groups = state.groups.map((group, index) => groupFields(group, index, state, catalogue, change, !closed.has(String(index))));
  const add = h("button", { type: "button", class: "add", disabled: state.groups.length >= MOST_GROUPS, click: () => change((s) => {
    s.groups.push({ ...GROUP });
    distinctNames(s.groups).forEach((name, at) => (s.groups[at]!.name = name));
  }, true) }, "Add users");
  form.replaceChildren(h("fieldset", { class: "users" }, h("legend", {}, "Users"), ...groups, add), network, time);
}

function groupFields(group: Group, index: number, state: State, catalogue: Catalogue, change: Change, open: boolean): HTMLElement {
  const id = (name: string) => `group-${index}-${name}`;
  const set = <K extends keyof Group>(key: K) => (value: Group[K]) => change((s) => (s.groups[index]![key] = value));
  const number = (key: keyof typeof GROUP_RANGES, label: string, write: (value: number) => string) =>
    slider(id(key), label, group[key], GROUP_RANGES[key], write, (value) => set(key)(value));
  const title = h("span", {}, group.name);
  const name = h("input", { id: id("name"), value: group.name, maxlength: 24, input: (event: Event) => {
    const clean = cleanName((event.target as HTMLInputElement).value) || GROUP.name;
    title.textContent = clean;
    set("name")(clean);
  } });
  const where: [string, string][] = [["0", "all links"], ...numbers(state.links).map((n): [string, string] => [String(n), `link ${n} only`])];
  return h("details", { class: "group", "data-index": index, open },
    h("summary", {}, h("span", { class: "swatch", style: `--own: var(--user-${index % 6})`, "aria-hidden": "true" }), title, h("span", { class: "brief" }, brief(group))),
    h("div", { class: "field" }, h("label", { for: id("name") }, "Name"), name),
    number("users", "Number of users", (v) => String(v)),
    choice(id("kind"), "They send", group.kind, Object.entries(KINDS), (v) => change((s) => (s.groups[index]!.kind = v as Group["kind"]), true)),
    group.kind === "tcp" && number("flows", "Flows per user", (v) => String(v)),
    (group.kind === "tcp" || group.kind === "video") && choice(id("control"), "Congestion control", group.control, catalogue.congestion_controls.map(({ name }) => [name, name]), (v) => set("control")(v)),
    group.kind === "udp" && number("rateMbps", "Rate per user", (v) => `${short(v)} Mbit/s`),
    number("rttMs", "Round trip", (v) => `${v} ms`),
    number("weight", "Weight", (v) => `${short(v)} ×`),
    state.links > 1 && choice(id("link"), "Crosses", String(group.link), where, (v) => set("link")(Number(v))),
    h("button", { type: "button", class: "remove", disabled: state.groups.length < 2, click: () => change((s) => s.groups.splice(index, 1), true) }, "Remove"),
  );
}

/** Short description of a group. */
export function brief(group: Group): string {
  const each = {
    tcp: `${group.flows} ${group.control} ${group.flows > 1 ? "flows" : "flow"}`, udp: `UDP ${short(group.rateMbps)} Mbit/s`, call: "G.711 voice", video: "adaptive",
  }[group.kind];
  return group.users > 1 ? `${group.users} users, each ${each}` : each;
}

/** A slider with its value next to it. */
function slider(id: string, label: string, value: number, range: Range, write: (value: number) => string, changed: (value: number) => void): HTMLElement {
  const output = h("output", { for: id }, write(value));
  const [low, high, step] = range.log ? [0, LOG_STEPS, 1] : [range.low, range.high, range.step];
  const input = h("input", { id, type: "range", min: low, max: high, step, value: toSlider(value, range), "aria-valuetext": write(value), input: () => {
    const now = fromSlider(Number(input.value), range);
    output.textContent = write(now);
    input.setAttribute("aria-valuetext", write(now));
    changed(now);
  } });
  return h("div", { class: "field slider" }, h("label", { for: id }, label), output, input);
}

function toSlider(value: number, range: Range): number {
  if (!range.log) return value;
  return Math.round((LOG_STEPS * Math.log(value / range.low)) / Math.log(range.high / range.low));
}

/** Value at a slider position. Logarithmic sliders have two significant digits and differ by at least a step. */
function fromSlider(position: number, range: Range): number {
  if (!range.log) return position;
  const exact = range.low * (range.high / range.low) ** (position / LOG_STEPS);
  const unit = Math.max(range.step, 10 ** (Math.floor(Math.log10(exact)) - 1));
  return Number(Math.min(range.high, Math.max(range.low, Math.round(exact / unit) * unit)).toPrecision(6));
}

function choice(id: string, label: string, value: string, choices: [value: string, label: string][], changed: (value: string) => void): HTMLElement {
  const options = choices.map(([own, text]) => h("option", { value: own, selected: own === value }, text));
  const select = h("select", { id, change: () => changed(select.value) }, ...options);
  return h("div", { class: "field" }, h("label", { for: id }, label), select);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
