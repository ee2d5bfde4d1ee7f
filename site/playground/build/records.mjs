// Runs scenarios in Node with the page's simulator. Each line of the input is a JSON array of scenario and replication
// number; each line of the output is the record, or an object with the key "problem".
//
//     node site/playground/build/records.mjs fairlane_wasm.wasm < jobs

import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";

const source = join(dirname(fileURLToPath(import.meta.url)), "../src/wasm.ts");
const { outputFiles } = await build({ entryPoints: [source], bundle: true, write: false, format: "esm", logLevel: "warning" });
const { Simulator } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
const simulator = new Simulator(await WebAssembly.compile(readFileSync(process.argv[2])));

for await (const line of createInterface({ input: process.stdin })) {
  const [scenario, replication] = JSON.parse(line);
  try {
    console.log(new TextDecoder().decode(simulator.run(scenario, replication)[0]));
  } catch (error) {
    console.log(JSON.stringify({ problem: error.message }));
  }
}
