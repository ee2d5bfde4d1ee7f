// Builds site/playground/dist/playground.html, one file that needs no server: page, styles, program, worker and simulator.

import { build } from "esbuild";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { explanation } from "./chapters.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const root = join(web, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const wasm = process.argv[2] ?? join(target, "wasm32-unknown-unknown/playground/fairlane_wasm.wasm");
const out = join(web, "dist/playground.html");

const keys = JSON.parse(readFileSync(join(web, "equations.json"), "utf8"));
const explanations = Object.fromEntries(Object.keys(keys).map((name) => [name, explanation(join(root, "docs"), name, keys[name])]));

async function bundled(entry) {
  const options = { bundle: true, minify: true, write: false, format: "iife", target: "es2022", logLevel: "warning" };
  const result = await build({ entryPoints: [join(web, entry)], ...options });
  return result.outputFiles[0].text;
}

/** Text of a script element, in which nothing may look like its end tag. */
const inScript = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

const parts = {
  style: await bundled("src/style.css"),
  worker: inScript(await bundled("src/worker.ts")),
  program: inScript(await bundled("src/main.ts")),
  explanations: inScript(JSON.stringify(explanations)),
  // Compress before base64, which compresses badly.
  simulator: gzipSync(readFileSync(wasm), { level: 9 }).toString("base64"),
};
const page = readFileSync(join(web, "src/page.html"), "utf8").replace(/%(\w+)%/g, (whole, part) => parts[part] ?? whole);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(`${out}.new`, page);
renameSync(`${out}.new`, out);
console.log(`${out}: ${Math.round(page.length / 1000)} kB, ${Math.round(gzipSync(page, { level: 9 }).length / 1000)} kB compressed`);
