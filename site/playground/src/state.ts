// The state determines everything that the page shows. The address contains all of it.

export type Kind = "tcp" | "udp" | "call" | "video";
export const KINDS: Record<Kind, string> = { tcp: "TCP", udp: "UDP", call: "a call", video: "a video" };

/** Identical users, drawn in one colour. */
export interface Group {
  name: string;
  users: number;
  kind: Kind;
  /** TCP flows of each user. */
  flows: number;
  control: string;
  rttMs: number;
  /** Weight of a user relative to others. */
  weight: number;
  /** Rate of each UDP user. */
  rateMbps: number;
  /** Number of the only link that the group crosses; 0 for all links. */
  link: number;
}

export interface State {
  schemes: string[];
  /** Parameters that differ from the defaults, by scheme, then by table and key. */
  params: Record<string, Record<string, string>>;
  groups: Group[];
  rateMbps: number;
  bufferPackets: number;
  /** Number of links in a row. */
  links: number;
  /** Number of the displayed link, from 1. */
  link: number;
  warmupS: number;
  measureS: number;
  seed: number;
  /** Setting of the large slider, by its key in controls.ts; if empty, chosen to suit the users. */
  main: string;
  /** The current story and step, if any. */
  story: string;
}

export const MOST_SCHEMES = 4;
export const MOST_GROUPS = 6;

export const GROUP: Group = {
  name: "user", users: 1, kind: "tcp", flows: 1, control: "cubic", rttMs: 20, weight: 1, rateMbps: 5, link: 0,
};

export const START: State = {
  schemes: ["droptail", "abc"],
  params: {},
  groups: [
    { ...GROUP, name: "heavy", flows: 10 },
    { ...GROUP, name: "light", users: 5 },
  ],
  rateMbps: 10, bufferPackets: 100, links: 1, link: 1, warmupS: 5, measureS: 15, seed: 1, main: "", story: "",
};

/** Range of a slider: lowest, highest, step; `log` for a logarithmic one. */
export interface Range { low: number; high: number; step: number; log?: boolean }

export const RANGES = {
  rateMbps: { low: 1, high: 50, step: 1 },
  bufferPackets: { low: 10, high: 1000, step: 5, log: true },
  links: { low: 1, high: 4, step: 1 },
  warmupS: { low: 0, high: 20, step: 1 },
  measureS: { low: 5, high: 60, step: 5 },
  seed: { low: 1, high: 99, step: 1 },
} satisfies Partial<Record<keyof State, Range>>;

export const GROUP_RANGES = {
  users: { low: 1, high: 20, step: 1 },
  flows: { low: 1, high: 30, step: 1 },
  rttMs: { low: 10, high: 300, step: 5, log: true },
  weight: { low: 0.5, high: 8, step: 0.5 },
  rateMbps: { low: 0.1, high: 50, step: 0.1, log: true },
} satisfies Partial<Record<keyof Group, Range>>;

type Numbers = { [K in keyof State]: State[K] extends number ? K : never }[keyof State];
const NUMBERS: Record<string, Numbers> = {
  rate: "rateMbps", buffer: "bufferPackets", links: "links", link: "link", warmup: "warmupS", measure: "measureS", seed: "seed",
};

/** The part of the address after #, which contains only differences from the initial state. */
export function toAddress(state: State): string {
  const query = new URLSearchParams();
  query.set("schemes", state.schemes.join(","));
  for (const [name, key] of Object.entries(NUMBERS)) {
    if (state[key] !== START[key]) query.set(name, String(state[key]));
  }
  for (const group of state.groups) {
    const numbers = [group.users, group.flows, group.control, group.rttMs, group.weight, group.rateMbps, group.link];
    query.append("group", [group.kind, ...numbers, group.name].join("~"));
  }
  for (const scheme of state.schemes) {
    for (const [key, value] of Object.entries(state.params[scheme] ?? {})) query.append("param", `${scheme}~${key}~${value}`);
  }
  if (state.main) query.set("main", state.main);
  if (state.story) query.set("story", state.story);
  return query.toString().replaceAll("%7E", "~").replaceAll("%2C", ",");
}

/** The state in an address. Missing and invalid parts are as in the initial state. */
export function fromAddress(address: string, known: { schemes: Set<string>; controls: Set<string> }): State {
  const query = new URLSearchParams(address.replace(/^#/, ""));
  const state: State = structuredClone(START);
  const schemes = (query.get("schemes") ?? "").split(",").filter((name) => known.schemes.has(name));
  if (schemes.length) state.schemes = [...new Set(schemes)].slice(0, MOST_SCHEMES);
  for (const [name, key] of Object.entries(NUMBERS)) {
    const range: Range = key === "link" ? RANGES.links : RANGES[key as keyof typeof RANGES];
    if (query.has(name)) state[key] = within(Number(query.get(name)), range, START[key]);
  }
  state.link = Math.min(state.link, state.links);
  const groups = query.getAll("group").map((text) => groupOf(text, known.controls, state.links));
  const valid = groups.filter((group): group is Group => group !== undefined).slice(0, MOST_GROUPS);
  if (valid.length) state.groups = valid;
  for (const text of query.getAll("param")) {
    const [scheme = "", key = "", ...value] = text.split("~");
    if (known.schemes.has(scheme) && /^(queue|marker)\.\w+$/.test(key)) (state.params[scheme] ??= {})[key] = value.join("~");
  }
  state.main = query.get("main") ?? "";
  state.story = query.get("story") ?? "";
  return state;
}

function groupOf(text: string, controls: Set<string>, links: number): Group | undefined {
  const [kind, users, flows, control = "", rtt, weight, rate, link, ...name] = text.split("~");
  if (!Object.hasOwn(KINDS, kind!)) return undefined;
  return {
    kind: kind as Kind,
    users: within(Number(users), GROUP_RANGES.users, GROUP.users),
    flows: within(Number(flows), GROUP_RANGES.flows, GROUP.flows),
    control: controls.has(control) ? control : GROUP.control,
    rttMs: within(Number(rtt), GROUP_RANGES.rttMs, GROUP.rttMs),
    weight: within(Number(weight), GROUP_RANGES.weight, GROUP.weight),
    rateMbps: within(Number(rate), GROUP_RANGES.rateMbps, GROUP.rateMbps),
    link: within(Number(link), { low: 0, high: links, step: 1 }, 0),
    name: cleanName(name.join("~")) || GROUP.name,
  };
}

function within(value: number, range: Range, otherwise: number): number {
  return Number.isFinite(value) && value >= range.low && value <= range.high ? value : otherwise;
}

/** Removes characters that are not allowed in file names. */
export function cleanName(name: string): string {
  return name.replace(/[^\p{L}\p{N} _.-]/gu, "").slice(0, 24).trim();
}

/** Makes names unique, which scenarios require. */
export function distinctNames(groups: Group[]): string[] {
  const taken = new Set<string>();
  return groups.map(({ name }) => {
    let free = name;
    for (let number = 2; taken.has(free); number++) free = `${name} ${number}`;
    taken.add(free);
    return free;
  });
}
