// The page: state in, pictures out.

import { Column, scalesOf, told as toldOf, type Explanation } from "./column";
import { fillForm } from "./controls";
import { byId, h } from "./dom";
import { Engine, type Outcome } from "./engine";
import { ms, percent, rate } from "./numbers";
import { Player } from "./player";
import { normalised, wait95, type Run } from "./run";
import { python, scenario } from "./scenario";
import { fromAddress, MOST_SCHEMES, toAddress, type State } from "./state";
import { stateOf, STORIES, told, type Claim } from "./stories";

const NARROW = "(max-width: 860px)";

class Page {
  private state: State;
  private columns: Column[] = [];
  private readonly known;
  private readonly explanations: Record<string, Explanation> = JSON.parse(byId("explanations").textContent ?? "{}");
  private readonly player: Player;
  private changedAt = performance.now();
  /** Whether the clock goes to the first drop with the next pictures. */
  private fresh = true;

  constructor(private readonly engine: Engine) {
    const { schemes, congestion_controls } = engine.catalogue;
    this.known = { schemes: new Set(schemes.map(({ name }) => name)), controls: new Set(congestion_controls.map(({ name }) => name)) };
    this.state = this.read();
    this.player = new Player(byId("player"), (time, speed) => this.tick(time, speed), () => this.nextDrop());
    byId<HTMLDetailsElement>("controls").open = !matchMedia(NARROW).matches;
    byId("copy-link").addEventListener("click", () => void this.copyLink());
    byId("take-along").addEventListener("click", () => this.takeAlong());
    byId("stories").append(h("span", { class: "stories-title" }, "Stories"), ...STORIES.map((story) =>
      h("button", { type: "button", "data-story": story.id, click: () => this.go(stateOf(story, 0)) }, story.title)));
    addEventListener("hashchange", () => {
      const address = toAddress(this.state);
      // A place of the page, such as that of the link that skips to the pictures, is no state.
      if (!location.hash.includes("=")) history.replaceState(null, "", `#${address}`);
      else if (location.hash.slice(1) !== address) this.go(this.read());
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let resized = 0;
    addEventListener("resize", () => {
      clearTimeout(resized);
      resized = window.setTimeout(() => this.redraw(), 150);
    });
    addEventListener("keydown", (event) => this.key(event));
    if (location.search === "?example") this.embed();
    this.go(this.state);
  }

  /** An example in a page that has said what it is: without a head and stories, and the frame may be as high as all of it. */
  private embed(): void {
    document.documentElement.classList.add("example");
    new ResizeObserver(() => parent.postMessage({ playgroundHeight: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
  }

  /** The state of the address; of one that has but a story, that of its step. */
  private read(): State {
    const query = new URLSearchParams(location.hash.slice(1));
    const step = query.has("schemes") ? undefined : told(query.get("story") ?? "");
    return step ? stateOf(step.story, step.step) : fromAddress(location.hash, this.known);
  }

  /** The records of the runs that are shown, by scheme. */
  records(): Record<string, unknown> {
    return Object.fromEntries(this.columns.flatMap(({ info, run }) => (run ? [[info.name, run.record]] : [])));
  }

  /** Another state: everything anew. */
  private go(state: State): void {
    this.state = state;
    this.fresh = true;
    this.fill();
    this.build();
    this.changed();
  }

  /** A change by a person, who leaves a story's step by it but not its text. */
  private readonly change = (change: (state: State) => void, rebuild = false): void => {
    change(this.state);
    if (rebuild) this.fill();
    this.changed();
  };

  private changed(): void {
    this.changedAt = performance.now();
    history.replaceState(null, "", `#${toAddress(this.state)}`);
    const scenarios = this.state.schemes.map((scheme): [string, string] => [scheme, scenario(this.state, scheme)]);
    const since = this.changedAt;
    this.engine.run({ scenarios, link: this.state.link - 1, done: (outcomes) => this.show(outcomes, since) });
  }

  private fill(): void {
    fillForm(byId("form"), this.state, this.engine.catalogue, this.change);
  }

  /** The columns, one for each scheme. */
  private build(): void {
    const { schemes } = this.engine.catalogue;
    this.columns = this.state.schemes.map((name, index) => {
      const info = schemes.find((scheme) => scheme.name === name)!;
      return new Column(info, this.explanations[name]!, schemes, this.state, {
        changeScheme: (to) => this.setSchemes((names) => (names[index] = to)),
        remove: () => this.setSchemes((names) => names.splice(index, 1)),
        setParam: (key, value) => this.setParam(name, key, value),
        seek: (time) => {
          this.player.play(false);
          this.player.seek(time);
        },
      });
    });
    const add = this.columns.length < MOST_SCHEMES && this.addScheme();
    byId("columns").replaceChildren(...this.columns.map((column) => column.element));
    document.querySelector(".add-scheme")?.remove();
    if (add) byId("player").append(add);
  }

  private addScheme(): HTMLElement {
    const free = this.engine.catalogue.schemes.filter(({ name }) => !this.state.schemes.includes(name));
    const options = free.map(({ name, title }) => h("option", { value: name }, `${name} – ${title}`));
    const select = h("select", { id: "add-scheme", change: () => this.setSchemes((names) => names.push(select.value)) },
      h("option", { value: "", selected: true, disabled: true }, "choose …"), ...options);
    return h("span", { class: "add-scheme" }, h("label", { for: "add-scheme" }, "Compare with"), select);
  }

  private setSchemes(change: (names: string[]) => void): void {
    change(this.state.schemes);
    this.build();
    this.changed();
  }

  private setParam(scheme: string, key: string, value: string): void {
    const params = (this.state.params[scheme] ??= {});
    if (value) params[key] = value;
    else delete params[key];
    this.changed();
  }

  private show(outcomes: Outcome[], since: number): void {
    const runs = outcomes.filter((outcome): outcome is Run => "record" in outcome);
    const scales = runs.length ? scalesOf(runs) : undefined;
    for (const outcome of outcomes) {
      // Columns may have gone since the runs began; their successors have runs of their own.
      const column = this.columns.find(({ info }) => info.name === outcome.scheme);
      if ("problem" in outcome) column?.showProblem(outcome.problem);
      else if (scales) column?.show(outcome, scales);
    }
    this.showStory(runs);
    const end = this.state.warmupS + this.state.measureS;
    const drops = this.columns.flatMap((column) => (column.run ? (column.queue.firstDrop() ?? []) : []));
    const start = Math.max(0, (drops.length ? Math.min(...drops) : this.state.warmupS) - 0.02);
    this.player.restart(end, this.fresh ? start : this.player.time);
    this.fresh = false;
    byId("status").textContent = outcomes.map((outcome) => ("record" in outcome ? toldOf(outcome) : `${outcome.scheme}: ${outcome.problem}`)).join(" ");
    document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown ?? 0) + 1);
    document.documentElement.dataset.ms = (performance.now() - since).toFixed(1);
  }

  /** Colours and widths have changed. */
  private redraw(): void {
    const runs = this.columns.flatMap(({ run }) => run ?? []);
    if (!runs.length) return;
    const scales = scalesOf(runs);
    for (const column of this.columns) if (column.run) column.show(column.run, scales);
    this.player.seek(this.player.time);
  }

  private tick(time: number, speed: number): void {
    for (const column of this.columns) {
      if (!column.run) continue;
      column.queue.draw(time, speed);
      column.mark(time);
    }
  }

  private nextDrop(): void {
    const next = this.columns.flatMap((column) => (column.run ? (column.queue.nextDrop(this.player.time) ?? []) : []));
    if (next.length) this.player.seek(Math.min(...next));
  }

  private showStory(runs: Run[]): void {
    const place = byId("story");
    const current = told(this.state.story);
    place.hidden = !current;
    for (const button of document.querySelectorAll<HTMLElement>("#stories button")) {
      button.toggleAttribute("aria-current", button.dataset.story === current?.story.id);
    }
    if (!current) return place.replaceChildren();
    const { story, step } = current;
    const text = story.steps[step]!.text.split(/\{([^}]*)\}/).map((part, index) => (index % 2 ? h("b", {}, figureText(part, runs)) : part));
    const to = (other: number) => () => {
      this.go(stateOf(story, other));
      byId("story").querySelector("h2")?.focus();
    };
    place.replaceChildren(
      h("h2", { tabindex: -1 }, `${story.title} · ${step + 1} of ${story.steps.length}`),
      h("p", {}, ...text),
      h("div", { class: "steps" },
        h("button", { type: "button", disabled: step === 0, click: to(step - 1) }, "Back"),
        h("button", { type: "button", class: "next", disabled: step + 1 === story.steps.length, click: to(step + 1) }, "Next"),
        h("button", { type: "button", click: () => {
          this.state.story = "";
          this.changed();
        } }, "Close")));
    const failed = story.steps[step]!.claims.filter((claim) => !holds(claim, runs));
    place.dataset.failed = failed.map((claim) => `${claim.figure} is ${figure(claim.figure, runs)}`).join("; ");
    place.dataset.step = `${story.id}.${step + 1}`;
  }

  private async copyLink(): Promise<void> {
    const button = byId("copy-link");
    await navigator.clipboard.writeText(location.href).then(() => (button.textContent = "Copied"), () => (button.textContent = "The address bar has it"));
    setTimeout(() => (button.textContent = "Copy link"), 2000);
  }

  /** Scenario files and a program in Python for just these runs. */
  private takeAlong(): void {
    const dialog = byId<HTMLDialogElement>("dialog");
    const texts: [string, string, string][] = [
      ...this.state.schemes.map((scheme): [string, string, string] => [`playground-${scheme}.toml`, scenario(this.state, scheme), `fairlane run playground-${scheme}.toml`]),
      ["playground.py", python(this.state), "python playground.py"],
    ];
    const code = h("pre", { id: "taken", tabindex: "0", role: "region", "aria-label": "Text of the file" });
    const command = h("code");
    const link = h("a", { class: "button", download: "" }, "Download");
    const choose = h("select", { id: "take", change: () => pick(Number(choose.value)) }, ...texts.map(([name], index) => h("option", { value: index }, name)));
    const pick = (index: number) => {
      const [name, text, run] = texts[index]!;
      code.textContent = text;
      command.textContent = run;
      link.download = name;
      link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    };
    pick(0);
    dialog.replaceChildren(
      h("h2", { id: "dialog-title" }, "Take it along"),
      h("p", {}, "These files give exactly the runs of this page, number by number. With Fairlane installed: ", command),
      h("div", { class: "field" }, h("label", { for: "take" }, "File"), choose),
      code,
      h("div", { class: "steps" }, link,
        h("button", { type: "button", click: () => void navigator.clipboard.writeText(code.textContent ?? "") }, "Copy"),
        h("button", { type: "button", click: () => dialog.close() }, "Close")));
    dialog.showModal();
  }

  /** Space plays and pauses, where it means nothing else. */
  private key(event: KeyboardEvent): void {
    const on = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || on.closest("input, select, button, summary, a, dialog, [tabindex='0']")) return;
    if (event.key === " ") {
      event.preventDefault();
      document.querySelector<HTMLElement>(".play")?.click();
    } else if (event.key === "d") {
      this.player.play(false);
      this.nextDrop();
    }
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
  return what === "share" ? normalised(run, group) : run.record.groups[group]!.throughput_bps / 1e6;
}

function figureText(name: string, runs: Run[]): string {
  const value = figure(name, runs);
  if (!Number.isFinite(value)) return "…";
  if (name.endsWith("_ms")) return ms(value / 1000);
  return name.endsWith("_mbps") ? rate(value * 1e6) : percent(value);
}

function holds(claim: Claim, runs: Run[]): boolean {
  const value = figure(claim.figure, runs);
  return value > (claim.above ?? -Infinity) && value < (claim.below ?? Infinity);
}

// The page by its name, for tests and for whoever looks at it from the console.
void Engine.start().then((engine) => Object.assign(globalThis, { playground: new Page(engine) }), (error: unknown) => {
  byId("status").textContent = `The simulator does not start: ${String(error)}`;
});
