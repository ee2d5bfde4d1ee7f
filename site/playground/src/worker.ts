// Executes the page's requests, one run after another.

import type { Answer, Request } from "./messages";
import { Simulator } from "./wasm";

const scope = self as unknown as { onmessage: (event: MessageEvent<Request>) => void; postMessage(answer: Answer, moved?: Transferable[]): void };
let simulator: Simulator | undefined;

async function answer(request: Request): Promise<void> {
  if (request.kind === "start") {
    simulator = new Simulator(await WebAssembly.compile(request.wasm));
    return scope.postMessage({ kind: "catalogue", catalogue: JSON.parse(simulator.catalogue()) });
  }
  const { turn, scheme } = request;
  const start = performance.now();
  try {
    const parts = simulator!.run(request.scenario, 0);
    const [record, watched, ...columns] = parts.map((part) => part.buffer);
    const json = (bytes?: ArrayBuffer) => JSON.parse(new TextDecoder().decode(bytes));
    const ms = performance.now() - start;
    scope.postMessage({ kind: "run", turn, scheme, record: json(record), watched: json(watched), columns, ms }, columns);
  } catch (error) {
    scope.postMessage({ kind: "refused", turn, scheme, problem: (error as Error).message });
  }
}

scope.onmessage = (event) => void answer(event.data);
