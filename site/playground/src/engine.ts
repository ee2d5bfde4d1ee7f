// Interface to the worker, which executes the newest request and drops older ones that have not begun.

import type { Answer, Catalogue, Request } from "./messages";
import { byId } from "./dom";
import { asRun, type Run } from "./run";

export type Outcome = Run | { scheme: string; problem: string };

/** After this time, a newer job replaces the current one. Shorter jobs are finished, so that figures follow a slider. */
const GIVES_WAY_AFTER_MS = 400;

interface Job { scenarios: [scheme: string, scenario: string][]; link: number; done: (outcomes: Outcome[]) => void }

export class Engine {
  private turn = 0;
  private current: { job: Job; outcomes: Outcome[]; since: number } | undefined;
  private next: Job | undefined;

  private constructor(private readonly worker: Worker, readonly catalogue: Catalogue) {
    worker.onmessage = (event: MessageEvent<Answer>) => this.heard(event.data);
  }

  /** Starts the simulator embedded in the page. */
  static async start(): Promise<Engine> {
    const program = new Blob([byId("worker").textContent ?? ""], { type: "text/javascript" });
    const worker = new Worker(URL.createObjectURL(program));
    const wasm = await unpacked(byId("simulator").textContent ?? "");
    const catalogue = new Promise<Catalogue>((resolve) => {
      worker.onmessage = ({ data }: MessageEvent<Answer>) => data.kind === "catalogue" && resolve(data.catalogue);
    });
    worker.postMessage({ kind: "start", wasm } satisfies Request, [wasm]);
    return new Engine(worker, await catalogue);
  }

  /** Runs scenarios; `done` is not called if a newer job replaces this one. */
  run(job: Job): void {
    this.next = job;
    if (!this.current) this.begin();
  }

  private begin(): void {
    const job = this.next;
    if (!job) return;
    this.next = undefined;
    this.current = { job, outcomes: [], since: performance.now() };
    this.turn++;
    this.ask();
  }

  /** Requests one scheme after another, so that a newer job waits for at most one run. */
  private ask(): void {
    const { job, outcomes } = this.current!;
    const [scheme, scenario] = job.scenarios[outcomes.length]!;
    this.worker.postMessage({ kind: "run", turn: this.turn, scheme, scenario } satisfies Request);
  }

  private heard(answer: Answer): void {
    if (answer.kind === "catalogue" || !this.current || answer.turn !== this.turn) return;
    const { job, outcomes, since } = this.current;
    outcomes.push(
      answer.kind === "refused"
        ? { scheme: answer.scheme, problem: answer.problem }
        : asRun(answer.scheme, answer.record, answer.watched, answer.columns, job.link),
    );
    const finished = outcomes.length === job.scenarios.length;
    const givesWay = this.next && performance.now() - since > GIVES_WAY_AFTER_MS;
    if (!finished && !givesWay) return this.ask();
    this.current = undefined;
    if (finished) job.done(outcomes);
    this.begin();
  }
}

/** Decodes base64 and decompresses gzip. */
async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
