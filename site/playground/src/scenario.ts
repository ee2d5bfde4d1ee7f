// Converts the state to scenarios, one per scheme, for the worker, for files and for Python.

import { distinctNames, type Group, type Kind, type State } from "./state";

/** Number of bins of the time series in a run. */
const BINS = 200;
/** Delay of a link; small, to allow the shortest round trip. */
export const LINK_DELAY_MS = 1;
/** A call: G.711 with packet loss concealment, and the receiver's jitter buffer. */
export const CALL = { codec: "g711_plc", intervalMs: 20, bufferMs: 60 };
/** A video player whose short buffer makes its choices visible within seconds. */
const VIDEO: Table = { kind: "video", buffer: "10 s", chunk: "1 s", reservoir: "2 s", cushion: "6 s" };

/** Congestion controls that need congestion marks. */
const MARKED = new Set(["dctcp", "prague"]);

export type Value = string | number | boolean | string[];
export type Table = Record<string, Value>;

/** The tables of a scheme. */
export interface SchemeTables { queue: Table; marker?: Table }

/** `[queue]` and, if not empty, `[marker]` of a scheme. */
export function schemeTables(state: State, scheme: string): SchemeTables {
  const queue: Table = { scheme, limit: `${state.bufferPackets} packets` };
  const marker: Table = {};
  for (const [key, text] of Object.entries(state.params[scheme] ?? {})) {
    const [table, name] = key.split(".") as ["queue" | "marker", string];
    (table === "queue" ? queue : marker)[name] = literal(text);
  }
  return Object.keys(marker).length ? { queue, marker } : { queue };
}

/** Value typed for a parameter: a number if possible, else text. */
function literal(text: string): Value {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Names of the links, in order. */
export function linkNames(state: State): string[] {
  return state.links === 1 ? ["bottleneck"] : Array.from({ length: state.links }, (_, index) => `link${index + 1}`);
}

/** The scenario without the tables of a scheme, as TOML: tables first, groups last. */
export function common(state: State): { tables: string; groups: string } {
  const run = { warmup: `${state.warmupS} s`, measure: `${state.measureS} s`, replications: 1, seed: state.seed };
  const row: Table = state.links === 1 ? {} : { kind: "parking_lot", congested_links: state.links };
  const topology: Table = { ...row, bottleneck_rate: `${state.rateMbps} Mbit/s`, bottleneck_delay: `${LINK_DELAY_MS} ms` };
  const probes: Table = { series_interval: `${(state.warmupS + state.measureS) * (1000 / BINS)} ms` };
  if (state.links > 1) probes.series_link = linkNames(state)[state.link - 1] ?? "link1";
  // The only profile that supports every congestion control.
  const tcp = { profile: "linux" };
  const tables = [toml("run", run), toml("topology", topology), toml("tcp", tcp), toml("probes", probes)].join("\n");
  const names = distinctNames(state.groups);
  return { tables, groups: state.groups.map((group, index) => groupToml(group, names[index] ?? group.name, state)).join("\n") };
}

/** The scenario of a scheme as a TOML file. */
export function scenario(state: State, scheme: string): string {
  const { tables, groups } = common(state);
  const { queue, marker } = schemeTables(state, scheme);
  const own = toml("queue", queue) + (marker ? `\n${toml("marker", marker)}` : "");
  return `name = "playground"\n\n${tables}\n${own}\n${groups}`;
}

function groupToml(group: Group, name: string, state: State): string {
  const table: Table = { name, users: group.users, weight: group.weight, rtt: `${group.rttMs} ms`, start_until: "1 s" };
  if (state.links > 1 && group.link > 0) table.route = [linkNames(state)[group.link - 1] ?? "link1"];
  const marks: Table = MARKED.has(group.control) ? { ecn: true } : {};
  const control: Table = { congestion_control: group.control, ...marks };
  const sources: Record<Kind, Table> = {
    tcp: { kind: "tcp", flows: group.flows, ...control },
    udp: { kind: "poisson", rate: `${group.rateMbps} Mbit/s` },
    call: { kind: "voip", codec: CALL.codec, packet_interval: `${CALL.intervalMs} ms`, buffer: `${CALL.bufferMs} ms` },
    video: { ...VIDEO, ...control },
  };
  return `[[groups]]\n${lines(table)}\n[[groups.sources]]\n${lines(sources[group.kind])}`;
}

function toml(name: string, table: Table): string {
  return `[${name}]\n${lines(table)}`;
}

function lines(table: Table): string {
  return Object.entries(table).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join("");
}

/** A Python program for the same runs. */
export function python(state: State): string {
  const { tables, groups } = common(state);
  const entries = state.schemes.map((scheme) => `    ${JSON.stringify(scheme)}: ${JSON.stringify(schemeTables(state, scheme))},`);
  return `import tomllib

import fairlane

scenario = tomllib.loads("""
name = "playground"

${tables}
${groups}""")
schemes = {
${entries.join("\n")}
}
results = {name: fairlane.run(fairlane.Scenario.from_dict(scenario | own)) for name, own in schemes.items()}
for name, result in results.items():
    print(name, result, sep="\\n")
`;
}
