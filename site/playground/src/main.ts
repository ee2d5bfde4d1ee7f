// The page, which turns the state into figures.

import { Column, scalesOf, told as toldOf, type Explanation } from "./column";
import { fillForm, fillLarge } from "./controls";
import { byId, h } from "./dom";
import { Engine, type Outcome } from "./engine";
import { Player } from "./player";
import type { Run } from "./run";
import { python, scenario } from "./scenario";
import { fromAddress, MOST_SCHEMES, toAddress, type State } from "./state";
import { played, silence } from "./sound";
import { stateOf, STORIES, told } from "./stories";
import { StoryPanel } from "./story";

/** Changes of one control within this time are one step in the history. */
const ONE_STEP_MS = 1500;

class Page {
  private state: State;
  private columns: Column[] = [];
  private readonly known;
  private readonly explanations: Record<string, Explanation> = JSON.parse(byId("explanations").textContent ?? "{}");
  private readonly player: Player;
  private readonly story = new StoryPanel({
    go: (step) => {
      this.go(stateOf(told(this.state.story)!.story, step));
      byId("story").querySelector("h2")?.focus({ preventScroll: true });
    },
    close: () => this.change((state) => (state.story = ""), true),
    answered: () => this.present(),
  });
  private changedAt = -Infinity;
  /** The control that was changed last. */
  private control = "";
  /** Outcomes of the runs of the state. */
  private outcomes: Outcome[] = [];
  /** True if the clock jumps to the first drop with the next figures. */
  private fresh = true;

  constructor(private readonly engine: Engine) {
    const { schemes, congestion_controls } = engine.catalogue;
    this.known = { schemes: new Set(schemes.map(({ name }) => name)), controls: new Set(congestion_controls.map(({ name }) => name)) };
    this.state = this.read();
    this.player = new Player(byId("player"), (time, speed, playing) => this.tick(time, speed, playing), () => this.nextDrop());
    byId("copy-link").addEventListener("click", () => void this.copyLink());
    byId("take-along").addEventListener("click", () => this.takeAlong());
    byId("stories").append(h("span", { class: "stories-title" }, "Stories"), ...STORIES.map((story) =>
      h("button", { type: "button", "data-story": story.id, click: () => this.go(stateOf(story, 0)) }, story.title)));
    addEventListener("hashchange", () => {
      const address = toAddress(this.state);
      // An anchor of the page, such as that of the skip link, is not a state.
      if (!location.hash.includes("=")) history.replaceState(null, "", `#${address}`);
      else if (location.hash.slice(1) !== address) this.go(this.read(), false);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let resized = 0;
    addEventListener("resize", () => {
      clearTimeout(resized);
      resized = window.setTimeout(() => this.redraw(), 150);
    });
    addEventListener("keydown", (event) => this.key(event));
    if (location.search === "?example") this.embed();
    this.go(this.state, false);
  }

  /** Example within another page: without header and stories; reports its height, so that the frame can fit it. */
  private embed(): void {
    document.documentElement.classList.add("example");
    new ResizeObserver(() => parent.postMessage({ playgroundHeight: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
  }

  /** The state in the address; if there is only a story, the state of its step. */
  private read(): State {
    const query = new URLSearchParams(location.hash.slice(1));
    const step = query.has("schemes") ? undefined : told(query.get("story") ?? "");
    return step ? stateOf(step.story, step.step) : fromAddress(location.hash, this.known);
  }

  /** The records of the displayed runs, by scheme. */
  records(): Record<string, unknown> {
    return Object.fromEntries(this.columns.flatMap(({ info, run }) => (run ? [[info.name, run.record]] : [])));
  }

  /** For each packet of a group's call, true if it is played under a scheme. */
  heard(scheme: string, group: number): boolean[] {
    const run = this.columns.find(({ info }) => info.name === scheme)?.run;
    return run ? played(run, group) : [];
  }

  /** Switches to another state and rebuilds the page. */
  private go(state: State, isStep = true): void {
    this.state = state;
    this.fresh = true;
    this.fill();
    this.build();
    this.story.show(state.story, []);
    this.changed(isStep);
  }

  /** Applies a change by the user; the text of a story's step stays. */
  private readonly change = (change: (state: State) => void, rebuild = false): void => {
    change(this.state);
    const control = document.activeElement?.id ?? "";
    const isStep = rebuild || control !== this.control || performance.now() - this.changedAt > ONE_STEP_MS;
    this.control = control;
    if (rebuild || control === "large") fillForm(byId("form"), this.state, this.engine.catalogue, this.change);
    if (rebuild || control !== "large") fillLarge(byId("large-slider"), this.state, this.change);
    if (rebuild && control) document.getElementById(control)?.focus({ preventScroll: true });
    this.changed(isStep);
  };

  /** Runs the state; with `isStep`, the browser's Back button leads to the previous state. */
  private changed(isStep: boolean): void {
    this.changedAt = performance.now();
    const address = `#${toAddress(this.state)}`;
    const embedded = document.documentElement.classList.contains("example");
    if (isStep && !embedded && location.hash !== address) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    silence();
    document.documentElement.toggleAttribute("data-busy", true);
    byId("results").setAttribute("aria-busy", "true");
    const scenarios = this.state.schemes.map((scheme): [string, string] => [scheme, scenario(this.state, scheme)]);
    const since = this.changedAt;
    this.engine.run({ scenarios, link: this.state.link - 1, done: (outcomes) => this.show(outcomes, since) });
  }

  private fill(): void {
    fillForm(byId("form"), this.state, this.engine.catalogue, this.change);
    fillLarge(byId("large-slider"), this.state, this.change);
  }

  /** Builds the columns, one for each scheme. */
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
    byId("scenes").replaceChildren(...this.columns.map((column) => column.top));
    byId("scenes").dataset.count = String(this.columns.length);
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
    this.changed(true);
  }

  private setParam(scheme: string, key: string, value: string): void {
    const params = (this.state.params[scheme] ??= {});
    if (value) params[key] = value;
    else delete params[key];
    this.changed(true);
  }

  private show(outcomes: Outcome[], since: number): void {
    this.outcomes = outcomes;
    this.story.veil(this.state.story);
    const runs = outcomes.filter((outcome): outcome is Run => "record" in outcome);
    const scales = runs.length ? scalesOf(runs) : undefined;
    for (const outcome of outcomes) {
      // Columns may have been replaced since the runs began; the new ones have separate runs.
      const column = this.columns.find(({ info }) => info.name === outcome.scheme);
      if ("problem" in outcome) column?.showProblem(outcome.problem);
      else if (scales) column?.show(outcome, scales);
    }
    this.showErrors();
    const end = this.state.warmupS + this.state.measureS;
    const drops = this.columns.flatMap(({ run, scene }) => (run ? (scene.nextDrop(run.record.window_s[0]) ?? []) : []));
    const start = Math.max(0, (drops.length ? Math.min(...drops) : this.state.warmupS) - 0.02);
    this.player.restart(end, this.fresh ? start : this.player.time);
    this.fresh = false;
    this.present();
    document.documentElement.removeAttribute("data-busy");
    byId("results").setAttribute("aria-busy", "false");
    if (!performance.getEntriesByName("first picture").length) performance.mark("first picture");
    document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown ?? 0) + 1);
    document.documentElement.dataset.ms = (performance.now() - since).toFixed(1);
  }

  /** Presents the runs after the reader has guessed. */
  private present(): void {
    const { outcomes } = this;
    this.story.show(this.state.story, outcomes.filter((outcome): outcome is Run => "record" in outcome));
    this.player.seek(this.player.time);
    const veiled = document.documentElement.hasAttribute("data-veiled");
    byId("status").textContent = veiled ? "" : outcomes.map((outcome) => ("record" in outcome ? toldOf(outcome) : `${outcome.scheme}: ${outcome.problem}`)).join(" ");
  }

  /** Shows each error next to its field, which is unfolded. */
  private showErrors(): void {
    for (const old of document.querySelectorAll(".field .problem")) old.remove();
    for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const outcome of this.outcomes) {
      if (!("problem" in outcome)) continue;
      const column = this.columns.find(({ info }) => info.name === outcome.scheme);
      const field = column?.fieldOf(outcome.problem) ?? formField(outcome.problem);
      if (!field || field.hasAttribute("aria-invalid")) continue;
      field.setAttribute("aria-invalid", "true");
      column?.lead(field);
      field.closest(".field")!.append(h("p", { class: "problem" }, outcome.problem));
      for (let at = field.closest("details"); at; at = at.parentElement!.closest("details")) at.open = true;
    }
  }

  /** Draws again after a change of colours or widths. */
  private redraw(): void {
    const runs = this.columns.flatMap(({ run }) => run ?? []);
    if (!runs.length) return;
    const scales = scalesOf(runs);
    for (const column of this.columns) if (column.run) column.show(column.run, scales);
    this.player.seek(this.player.time);
  }

  private tick(time: number, speed: number, playing: boolean): void {
    for (const column of this.columns) {
      if (!column.run) continue;
      column.scene.draw(time, speed, playing);
      column.mark(time);
    }
  }

  private nextDrop(): void {
    const next = this.columns.flatMap((column) => (column.run ? (column.scene.nextDrop(this.player.time) ?? []) : []));
    if (next.length) this.player.seek(Math.min(...next));
  }

  private async copyLink(): Promise<void> {
    const button = byId("copy-link");
    await navigator.clipboard.writeText(location.href).then(() => (button.textContent = "Copied"), () => (button.textContent = "Copy the address bar"));
    setTimeout(() => (button.textContent = "Copy link"), 2000);
  }

  /** Shows scenario files and a Python program for these runs. */
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
      h("h2", { id: "dialog-title" }, "Export"),
      h("p", {}, "These files reproduce the runs of this page exactly. With Fairlane installed: ", command),
      h("div", { class: "field" }, h("label", { for: "take" }, "File"), choose),
      code,
      h("div", { class: "steps" }, link,
        h("button", { type: "button", click: () => void navigator.clipboard.writeText(code.textContent ?? "") }, "Copy"),
        h("button", { type: "button", click: () => dialog.close() }, "Close")));
    dialog.showModal();
  }

  /** Handles keys: Space plays and pauses, unless the focused element uses it; d goes to the next drop. */
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

/** The form field of the key at the start of an error message. */
function formField(problem: string): HTMLElement | null {
  const group = /^groups\[(\d+)\]\.(?:sources\[0\]\.)?(\w+)/.exec(problem);
  if (group) {
    const names: Record<string, string> = { congestion_control: "control", rate: "rateMbps", rtt: "rttMs" };
    return document.getElementById(`group-${group[1]}-${names[group[2]!] ?? group[2]}`);
  }
  const names: Record<string, string> = { "topology.bottleneck_rate": "rate", "topology.congested_links": "links", "queue.limit": "buffer" };
  return document.getElementById(names[problem.split(":")[0]!] ?? problem.split(":")[0]!.replace(/^run\./, ""));
}

// Makes the page accessible by name, for tests and for the browser's console.
void Engine.start().then((engine) => Object.assign(globalThis, { playground: new Page(engine) }), (error: unknown) => {
  byId("status").textContent = `The simulator does not start: ${String(error)}`;
});
