// Messages between page and worker, and the parts of records that the page reads.

export interface Param {
  name: string;
  doc: string;
  default: unknown;
  table: "queue" | "marker";
  shared: boolean;
  symbol?: string | null;
  range?: [string, string] | null;
}

export interface SchemeInfo {
  name: string;
  title: string;
  kind: string;
  summary: string;
  state: string;
  marker: string;
  params: Param[];
}

export interface Catalogue {
  version: string;
  schemes: SchemeInfo[];
  congestion_controls: { name: string; title?: string; summary?: string }[];
}

export interface GroupRecord {
  name: string;
  users: number;
  throughput_bps: number;
  user_throughput_bps: number[];
  max_min_share_bps: number;
  path: { delivered_packets: number; dropped_packets: number; lost_share: number | null };
  voip?: { mos: number | null; lost_share: number | null; late_share: number | null };
  video?: { bitrate_bps: number | null; stalled_share: number | null };
}

export interface LinkRecord {
  name: string;
  utilisation: number;
  queue: { mean_packets: number; max_packets: number };
  drops: { reason: string; packets: number }[];
  user_dropped_packets: number[];
  marks: number;
}

export interface Record_ {
  window_s: [number, number];
  groups: GroupRecord[];
  jain_index_normalised: number | null;
  links: LinkRecord[];
  series: {
    interval_s: number;
    groups: { throughput_bps: number[] }[];
    queue_packets: number[];
    drop_threshold: (number | null)[];
  };
}

export interface Watched {
  what: string[];
  links: string[];
  group_of_user: number[];
  watched_until_s: number | null;
  readings: { interval_s: number; rows: number; names: string[][] };
  columns: { name: string; dtype: "Uint8" | "Uint32" | "Float32" | "Float64" }[];
}

export type Request =
  | { kind: "start"; wasm: ArrayBuffer }
  | { kind: "run"; turn: number; scheme: string; scenario: string };

export type Answer =
  | { kind: "catalogue"; catalogue: Catalogue }
  | { kind: "run"; turn: number; scheme: string; record: Record_; watched: Watched; columns: ArrayBuffer[]; ms: number }
  | { kind: "refused"; turn: number; scheme: string; problem: string };
