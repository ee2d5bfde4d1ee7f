// The parts of the page about one scheme.

import { withFormulas } from "./formula";
import { chart } from "./figures/chart";
import { drops, table } from "./figures/drops";
import { Scene } from "./figures/scene";
import { colour, h, themed } from "./dom";
import type { Param, SchemeInfo } from "./messages";
import { ms, percent, quantile, rate, short } from "./numbers";
import { wait95, type Run } from "./run";
import type { State } from "./state";

export interface Explanation { text: string; equations: string[]; source: string }

/** Common scales of all columns, so that they can be compared. */
export interface Scales { throughput: number; user: number; queue: number; queuePackets: number; waitS: number }

const CDF_POINTS = 120;

export interface ColumnEvents {
  changeScheme(to: string): void;
  remove(): void;
  setParam(key: string, value: string): void;
  seek(time: number): void;
}

export class Column {
  /** Summary of the scheme, for the first screen. */
  readonly top: HTMLElement;
  /** Details, further down. */
  readonly element: HTMLElement;
  readonly scene: Scene;
  run: Run | undefined;
  private readonly problem = h("p", { class: "problem", role: "alert", hidden: true });
  private readonly facts = h("p", { class: "facts" });
  private readonly drops = h("div");
  private readonly numbers = h("div");
  private readonly throughput = chart();
  private readonly length = chart();
  private readonly waits = chart();

  constructor(
    readonly info: SchemeInfo, explanation: Explanation, all: SchemeInfo[], private readonly state: State, private readonly events: ColumnEvents,
  ) {
    this.scene = new Scene(state, info.name);
    const taken = new Set(state.schemes.filter((name) => name !== info.name));
    const options = all.map(({ name, title }) => h("option", { value: name, selected: name === info.name, disabled: taken.has(name) }, `${name} – ${title}`));
    const id = `scheme-${info.name}`;
    const select = h("select", { id, class: "scheme-choice", change: () => events.changeScheme(select.value) }, ...options);
    this.top = h("section", { class: "scene", "aria-label": info.title, "data-scheme": info.name },
      h("header", {},
        h("label", { for: id, class: "hidden" }, "Scheme"), select, this.facts,
        state.schemes.length > 1 && h("button", { type: "button", class: "remove", "aria-label": `Remove ${info.name}`, click: () => events.remove() }, "✕")),
      this.problem, this.scene.element);
    const about = h("details", { class: "about" }, h("summary", {}, "How it works"),
      h("p", {}, explanation.text.replaceAll("`", "")),
      ...explanation.equations.map(withFormulas),
      h("p", { class: "source" }, "Source: ", explanation.source.replace(/^Source: /, "").replaceAll("`", "")));
    this.element = h("article", { class: "scheme", "aria-label": `${info.title}: more`, "data-scheme": info.name },
      h("h2", {}, info.title), about, this.paramFields(state.params[info.name] ?? {}),
      ...Object.entries({ throughput: this.throughput, queue: this.length, waits: this.waits }).map(([what, { element }]) => {
        element.dataset.figure = what;
        return element;
      }),
      this.drops, this.numbers);
  }

  /** Parameters of the scheme, with their defaults. */
  private paramFields(params: Record<string, string>): HTMLElement {
    const own = this.info.params.filter((param) => !param.shared && param.name !== "scheme");
    const fields = own.map((param) => this.paramField(param, params[`${param.table}.${param.name}`] ?? ""));
    const changed = Object.keys(params).length;
    const summary = h("summary", {}, own.length ? `Parameters (${own.length})${changed ? `, ${changed} changed` : ""}` : "No parameters of its own");
    return h("details", { class: "params", open: changed > 0 }, summary, ...fields);
  }

  private paramField(param: Param, value: string): HTMLElement {
    const id = `param-${this.info.name}-${param.table}-${param.name}`;
    const standard = typeof param.default === "string" ? param.default : JSON.stringify(param.default);
    const input = h("input", { id, value, placeholder: standard === "null" ? "off" : standard, "aria-describedby": `${id}-doc`,
      change: () => this.events.setParam(`${param.table}.${param.name}`, input.value.trim()) });
    return h("div", { class: "field" }, h("label", { for: id }, param.name), input, h("p", { id: `${id}-doc`, class: "doc" }, param.doc));
  }

  /** The field of the parameter at the start of an error message. */
  fieldOf(problem: string): HTMLElement | null {
    const key = /^(queue|marker)\.(\w+)/.exec(problem);
    return key && document.getElementById(`param-${this.info.name}-${key[1]}-${key[2]}`);
  }

  /** Shows the error instead of figures. */
  showProblem(problem: string): void {
    this.run = undefined;
    this.problem.textContent = problem;
    this.problem.hidden = false;
    for (const part of [this.top, this.element]) part.classList.add("failed");
  }

  /** Adds a button that focuses the field with the error. */
  lead(field: HTMLElement): void {
    this.problem.append(" ", h("button", { type: "button", click: () => field.focus() }, "Go to the field"));
  }

  show(run: Run, scales: Scales): void {
    this.run = run;
    this.problem.hidden = true;
    for (const part of [this.top, this.element]) part.classList.remove("failed");
    const jain = run.record.jain_index_normalised;
    const used = Math.max(...run.record.links.map((link) => link.utilisation));
    this.facts.replaceChildren(
      h("span", { "data-fact": "wait" }, "95 % wait less than ", h("b", {}, ms(wait95(run)))), " · ", h("span", { class: "wide" }, "link busy ", h("b", {}, percent(used)), " · "),
      h("span", {}, "fairness ", h("b", {}, jain === null ? "–" : short(jain)), " of 1"));
    this.scene.show(run, scales);
    this.drops.replaceChildren(drops(run));
    const open = this.numbers.querySelector("details")?.open ?? false;
    this.numbers.replaceChildren(table(run));
    this.numbers.querySelector("details")!.open = open;
    this.drawThroughput(run, scales);
    this.drawLength(run, scales);
    this.drawWaits(run, scales);
  }

  /** Marks the time of the animation in the charts. */
  mark(time: number): void {
    this.throughput.mark(time);
    this.length.mark(time);
  }

  private time(run: Run): { x: number[]; xMost: number; xUnit: string; shadedUntil: number; picked: (x: number) => void } {
    const { interval_s, queue_packets } = run.record.series;
    const x = queue_packets.map((_, bin) => (bin + 0.5) * interval_s);
    const [from, to] = run.record.window_s;
    return { x, xMost: to, xUnit: "s", shadedUntil: from, picked: (at) => this.events.seek(at) };
  }

  private drawThroughput(run: Run, scales: Scales): void {
    const { groups, series } = run.record;
    const lines = groups.map((group, index) => ({
      name: group.name, colour: colour(index), values: smooth(series.groups[index]!.throughput_bps).map((bps) => bps / group.users / 1e6),
    }));
    const told = groups.map((group) => `${group.name} ${rate(group.throughput_bps)}`).join(", ");
    this.throughput.draw({ ...this.time(run), title: "Throughput of a user, Mbit/s", told: `Throughput over time; means: ${told}`, lines, yMost: scales.throughput / 1e6 });
  }

  private drawLength(run: Run, scales: Scales): void {
    const { queue_packets } = run.record.series;
    const { mean_packets, max_packets } = run.record.links[run.link]!.queue;
    const lines = [{ name: "", colour: themed("ink"), values: queue_packets, filled: true }];
    const told = `Queue over time: ${short(mean_packets)} packets on average, ${max_packets} at most`;
    this.length.draw({ ...this.time(run), title: `Queue of ${this.linkName(run)}, packets`, told, lines, yMost: scales.queue, height: 120 });
  }

  private drawWaits(run: Run, scales: Scales): void {
    const most = scales.waitS * 1000;
    const x = Array.from({ length: CDF_POINTS + 1 }, (_, index) => (index / CDF_POINTS) * most);
    const lines = run.record.groups.map((group, index) => ({ name: group.name, colour: colour(index), values: distribution(run.waits[index]!, x) }));
    const waits = run.record.groups.map((group, index) => `${group.name} ${ms(quantile(run.waits[index]!, 0.95))}`);
    const title = `Delay in the queue: 95 % of packets wait less than ${ms(wait95(run))}`;
    this.waits.draw({ title, told: `Share of packets that wait less than a time; for 95 %: ${waits.join(", ")}`, x, lines, xMost: most, yMost: 104, xUnit: "ms", yUnit: "% of packets", height: 130 });
  }

  private linkName(run: Run): string {
    return this.state.links > 1 ? `link ${run.link + 1}` : "the link";
  }
}

/** Means over three bins, to smooth lines. */
function smooth(values: number[]): number[] {
  return values.map((_, at) => {
    const near = values.slice(Math.max(0, at - 1), at + 2);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

/** Cumulative distribution: percentage of waits (s, ascending) up to each time (ms, ascending). */
function distribution(waits: Float32Array, timesMs: number[]): (number | null)[] {
  let below = 0;
  return timesMs.map((time) => {
    while (below < waits.length && waits[below]! * 1000 <= time) below++;
    return waits.length ? (100 * below) / waits.length : null;
  });
}

/** Scales that fit all runs. */
export function scalesOf(runs: Run[]): Scales {
  const most = (of: (run: Run) => number[]) => Math.max(...runs.flatMap(of));
  const perUser = (run: Run) => run.record.series.groups.flatMap((series, index) => smooth(series.throughput_bps).map((bps) => bps / run.record.groups[index]!.users));
  const shares = (run: Run) => run.record.groups.flatMap((group) => [group.throughput_bps, group.max_min_share_bps]);
  return {
    throughput: 1.05 * most(perUser),
    user: most(shares),
    queue: Math.max(5, 1.1 * most((run) => run.record.series.queue_packets)),
    queuePackets: Math.max(12, most((run) => run.record.links.map(({ queue }) => queue.max_packets))),
    waitS: Math.max(0.002, 1.1 * most((run) => run.waits.map((waits) => (waits.length ? quantile(waits, 0.995) : 0)))),
  };
}

/** One line about a run, for the status line. */
export function told(run: Run): string {
  const parts = run.record.groups.map((group) => `${group.name} ${rate(group.throughput_bps)}, ${percent(group.path.lost_share ?? 0)} lost`);
  return `${run.scheme}: ${parts.join("; ")}; 95 % wait less than ${ms(wait95(run))}.`;
}
