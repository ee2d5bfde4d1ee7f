// All that is shown of a scheme.

import { withFormulas } from "./formula";
import { chart } from "./figures/chart";
import { drops, table } from "./figures/drops";
import { drawsThreshold, queueFigure } from "./figures/queue";
import { shares } from "./figures/shares";
import { colour, h, themed } from "./dom";
import type { Param, SchemeInfo } from "./messages";
import { ms, percent, quantile, rate, short } from "./numbers";
import { wait95, type Run } from "./run";
import type { State } from "./state";

export interface Explanation { text: string; equations: string[]; source: string }

/** What all columns have in common, so that they can be compared. */
export interface Scales { throughput: number; user: number; queue: number; waitS: number }

const CDF_POINTS = 120;

export interface ColumnEvents {
  changeScheme(to: string): void;
  remove(): void;
  setParam(key: string, value: string): void;
  seek(time: number): void;
}

export class Column {
  readonly element: HTMLElement;
  readonly queue;
  run: Run | undefined;
  private readonly problem = h("p", { class: "problem", role: "alert", hidden: true });
  private readonly shares = h("div");
  private readonly drops = h("div");
  private readonly numbers = h("div");
  private readonly throughput = chart();
  private readonly length = chart();
  private readonly waits = chart();

  constructor(
    readonly info: SchemeInfo, explanation: Explanation, all: SchemeInfo[], private readonly state: State, private readonly events: ColumnEvents,
  ) {
    const params = state.params[info.name] ?? {};
    this.queue = queueFigure(() => drawsThreshold(info.name, state.params[info.name] ?? {}));
    const taken = new Set(state.schemes.filter((name) => name !== info.name));
    const options = all.map(({ name, title }) => h("option", { value: name, selected: name === info.name, disabled: taken.has(name) }, `${name} – ${title}`));
    const id = `scheme-${info.name}`;
    const select = h("select", { id, class: "scheme-choice", change: () => events.changeScheme(select.value) }, ...options);
    const about = h("div", { class: "about" },
      h("p", {}, explanation.text.replaceAll("`", "")),
      ...explanation.equations.map(withFormulas),
      h("details", { class: "source" }, h("summary", {}, "Source"), h("p", {}, explanation.source.replace(/^Source: /, "").replaceAll("`", ""))));
    this.element = h("article", { class: "scheme", "aria-label": info.title, "data-scheme": info.name },
      h("header", {},
        h("label", { for: id, class: "hidden" }, "Scheme"), select,
        state.schemes.length > 1 && h("button", { type: "button", class: "remove", "aria-label": `Remove ${info.name}`, click: () => events.remove() }, "✕")),
      about,
      this.paramFields(params),
      this.problem,
      this.shares, this.queue.element, this.throughput.element, this.length.element, this.waits.element, this.drops, this.numbers);
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

  /** Says why there is no run, in place of pictures. */
  showProblem(problem: string): void {
    this.run = undefined;
    this.problem.textContent = problem;
    this.problem.hidden = false;
    this.element.classList.add("failed");
  }

  show(run: Run, scales: Scales): void {
    this.run = run;
    this.problem.hidden = true;
    this.element.classList.remove("failed");
    this.queue.show(run);
    this.shares.replaceChildren(shares(run, scales.user));
    this.drops.replaceChildren(drops(run));
    const open = this.numbers.querySelector("details")?.open ?? false;
    this.numbers.replaceChildren(table(run));
    this.numbers.querySelector("details")!.open = open;
    this.drawThroughput(run, scales);
    this.drawLength(run, scales);
    this.drawWaits(run, scales);
  }

  /** The time of the animation in the charts. */
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

/** Means over three bins, so that a line can be followed. */
function smooth(values: number[]): number[] {
  return values.map((_, at) => {
    const near = values.slice(Math.max(0, at - 1), at + 2);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

/** Per cent of ascending waits, in seconds, that are at most as long as each of ascending times in milliseconds. */
function distribution(waits: Float32Array, timesMs: number[]): (number | null)[] {
  let below = 0;
  return timesMs.map((time) => {
    while (below < waits.length && waits[below]! * 1000 <= time) below++;
    return waits.length ? (100 * below) / waits.length : null;
  });
}

/** Scales that have room for all runs. */
export function scalesOf(runs: Run[]): Scales {
  const most = (of: (run: Run) => number[]) => Math.max(...runs.flatMap(of));
  const perUser = (run: Run) => run.record.series.groups.flatMap((series, index) => smooth(series.throughput_bps).map((bps) => bps / run.record.groups[index]!.users));
  const shares = (run: Run) => run.record.groups.flatMap((group) => [group.throughput_bps, group.max_min_share_bps]);
  return {
    throughput: 1.05 * most(perUser),
    user: most(shares),
    queue: Math.max(5, 1.1 * most((run) => run.record.series.queue_packets)),
    waitS: Math.max(0.002, 1.1 * most((run) => run.waits.map((waits) => (waits.length ? quantile(waits, 0.995) : 0)))),
  };
}

/** One line about a run, for the status. */
export function told(run: Run): string {
  const parts = run.record.groups.map((group) => `${group.name} ${rate(group.throughput_bps)}, ${percent(group.path.lost_share ?? 0)} lost`);
  return `${run.scheme}: ${parts.join("; ")}; 95 % wait less than ${ms(wait95(run))}.`;
}
