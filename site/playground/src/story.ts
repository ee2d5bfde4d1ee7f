// Shows a story: first the question of a step, if any, then the measured numbers with their subject on screen.

import { byId, h } from "./dom";
import { ms, percent, rate, short } from "./numbers";
import { normalised, wait95, type Run } from "./run";
import { told, type Claim, type Subject } from "./stories";

/** Selectors of the subjects on the page. */
const SUBJECTS: Record<Subject, string> = {
  scene: ".scene", shares: ".takers", facts: ".scene .facts", quality: ".takers",
  throughput: "[data-figure=throughput]", waits: "[data-figure=waits]",
};

/** Pixels between the text and its subject. */
const GAP = 8;

export interface StoryEvents { go(step: number): void; close(): void; answered(): void }

export class StoryPanel {
  private readonly place = byId("story");
  /** Answers during this visit, by step. */
  private readonly answers = new Map<string, number>();
  /** The step whose subject has been scrolled into view. */
  private shown = "";

  constructor(private readonly events: StoryEvents) {}

  /** Hides the results until the reader has guessed. */
  veil(address: string): void {
    const current = told(address);
    const ask = current?.story.steps[current.step]!.ask;
    document.documentElement.toggleAttribute("data-veiled", ask !== undefined && !this.answers.has(address));
  }

  show(address: string, runs: Run[]): void {
    const { place } = this;
    const current = told(address);
    place.hidden = !current;
    for (const button of document.querySelectorAll<HTMLElement>("#stories button")) {
      const isCurrent = button.dataset.story === current?.story.id;
      button.toggleAttribute("aria-current", isCurrent);
      if (isCurrent) button.parentElement!.scrollLeft = button.offsetLeft - button.parentElement!.clientWidth / 4;
    }
    this.veil(address);
    for (const old of document.querySelectorAll(".subject")) old.classList.remove("subject");
    if (!current) {
      this.shown = "";
      return place.replaceChildren();
    }
    const { story, step } = current;
    const { text, ask, claims, subject } = story.steps[step]!;
    const answer = this.answers.get(address);
    const waiting = ask && answer === undefined;
    const failed = claims.filter((claim) => !holds(claim, runs));
    place.dataset.failed = failed.map((claim) => `${claim.figure} is ${figure(claim.figure, runs)}`).join("; ");
    place.dataset.step = `${story.id}.${step + 1}`;
    const figures = text.split(/\{([^}]*)\}/).map((part, index) => (index % 2 ? h("b", {}, figureText(part, runs)) : part));
    const last = step + 1 === story.steps.length;
    place.replaceChildren(
      h("div", { class: "told" },
        h("h2", { tabindex: -1 }, story.title, h("small", {}, ` ${step + 1} of ${story.steps.length}`)),
        ask && h("p", {}, ask.setup),
        waiting
          ? h("div", { class: "ask", role: "group", "aria-label": ask.question }, h("p", {}, h("b", {}, ask.question)),
            ...ask.options.map((option, index) => h("button", { type: "button", class: "option", click: () => this.answered(address, index) }, option)))
          : h("p", { class: "answer" }, ask && h("strong", { class: answer === ask.right ? "right" : "wrong" }, answer === ask.right ? "You guessed right. " : `You said “${ask.options[answer!]}”, which is not right. `), ...figures)),
      h("div", { class: "steps" },
        h("button", { type: "button", disabled: step === 0, click: () => this.events.go(step - 1) }, "Back"),
        h("button", { type: "button", class: "next", disabled: last || waiting, click: () => this.events.go(step + 1) }, "Next"),
        h("button", { type: "button", "aria-label": "Close the story", click: () => this.events.close() }, "✕")));
    for (const element of document.querySelectorAll(SUBJECTS[subject ?? "scene"])) element.classList.add("subject");
    if (!runs.length || this.shown === address) return;
    this.shown = address;
    requestAnimationFrame(() => this.bring()); // charts take their size after this
  }

  private answered(address: string, index: number): void {
    this.answers.set(address, index);
    this.events.answered();
    this.place.querySelector("h2")?.focus({ preventScroll: true });
    requestAnimationFrame(() => this.bring());
  }

  /** Scrolls the subject into view below the text, which sticks to the top. */
  private bring(): void {
    const boxes = [...document.querySelectorAll(".subject")].map((element) => element.getBoundingClientRect());
    if (!boxes.length) return;
    const text = this.place.getBoundingClientRect();
    const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
    const above = top - (text.height + GAP);
    const below = bottom - (innerHeight - GAP);
    const covered = top < text.bottom;
    if (!covered && below <= 0) return;
    // Scroll as little as possible; if the subject is higher than the screen, show its start.
    scrollBy({ top: covered ? above : Math.min(above, below), behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  }
}

/** A measured number of a story. */
function figure(name: string, runs: Run[]): number {
  const [scheme, who, what] = name.split(".");
  const run = runs.find((one) => one.scheme === scheme);
  if (!run) return NaN;
  if (who === "wait95_ms") return wait95(run) * 1000;
  if (who === "busy") return run.record.links[run.link]!.utilisation;
  const group = run.record.groups.findIndex((one) => one.name === who);
  if (group < 0) return NaN;
  const { throughput_bps, path, voip, video } = run.record.groups[group]!;
  if (what === "lost") return path.lost_share ?? NaN;
  if (what === "mos") return voip?.mos ?? NaN;
  if (what === "bitrate_mbps") return (video?.bitrate_bps ?? NaN) / 1e6;
  return what === "share" ? normalised(run, group) : throughput_bps / 1e6;
}

function figureText(name: string, runs: Run[]): string {
  const value = figure(name, runs);
  if (!Number.isFinite(value)) return "…";
  if (name.endsWith("_ms")) return ms(value / 1000);
  if (name.endsWith(".mos")) return short(value);
  return name.endsWith("_mbps") ? rate(value * 1e6) : percent(value);
}

function holds(claim: Claim, runs: Run[]): boolean {
  const value = figure(claim.figure, runs);
  return value > (claim.above ?? -Infinity) && value < (claim.below ?? Infinity);
}
