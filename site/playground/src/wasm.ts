// Calls the functions of crates/wasm.

interface Exports {
  memory: WebAssembly.Memory;
  fairlane_input(length: number): number;
  fairlane_catalogue(): number;
  fairlane_run(replication: number): number;
  fairlane_parts(): number;
  fairlane_part(number: number): number;
  fairlane_part_length(number: number): number;
}

/** The simulator rejects the scenario; the message contains the key. */
export class Refused extends Error {}

export class Simulator {
  private exports: Exports;

  constructor(private readonly module: WebAssembly.Module) {
    this.exports = this.start();
  }

  private start(): Exports {
    return new WebAssembly.Instance(this.module).exports as unknown as Exports;
  }

  /** The catalogue as JSON. */
  catalogue(): string {
    return text(this.answer((exports) => exports.fairlane_catalogue())[0]);
  }

  /** Parts of the answer to a run: the record, and the events. */
  run(scenario: string, replication: number): Uint8Array<ArrayBuffer>[] {
    const input = new TextEncoder().encode(scenario);
    const at = this.exports.fairlane_input(input.length);
    new Uint8Array(this.exports.memory.buffer, at, input.length).set(input);
    return this.answer((exports) => exports.fairlane_run(replication));
  }

  private answer(call: (exports: Exports) => number): Uint8Array<ArrayBuffer>[] {
    const exports = this.exports;
    try {
      const status = call(exports);
      const parts = this.parts();
      if (status !== 0) throw new Refused(text(parts[0]));
      return parts;
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const defect = text(this.parts()[0]);
      this.exports = this.start();
      throw new Error(defect || String(error));
    }
  }

  /** Copies, since the memory may move. */
  private parts(): Uint8Array<ArrayBuffer>[] {
    const { memory, fairlane_parts, fairlane_part, fairlane_part_length } = this.exports;
    const part = (_: unknown, number: number) =>
      new Uint8Array(memory.buffer as ArrayBuffer, fairlane_part(number), fairlane_part_length(number)).slice();
    return Array.from({ length: fairlane_parts() }, part);
  }
}

function text(part: Uint8Array | undefined): string {
  return new TextDecoder().decode(part);
}
