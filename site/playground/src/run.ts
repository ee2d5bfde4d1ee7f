// A run, prepared for the figures.

import type { Record_, Watched } from "./messages";
import { quantile } from "./numbers";

/** Events of packets, one per row. */
export interface Events {
  time: Float64Array;
  what: Uint8Array;
  link: Uint32Array;
  packet: Uint32Array;
  user: Uint32Array;
  label: Float32Array;
  threshold: Float32Array;
  queue: Uint32Array;
}

/** Values of `what`. */
export const WAITS = 0;
export const LEAVES = 1;

export interface Run {
  scheme: string;
  record: Record_;
  watched: Watched;
  events: Events;
  /** Waiting times at the displayed link in seconds, ascending, by group. */
  waits: Float32Array[];
  /** All samples of the scheme's readings. */
  readings: Float32Array;
  /** Index of the displayed link. */
  link: number;
}

const ARRAYS = { Uint8: Uint8Array, Uint32: Uint32Array, Float32: Float32Array, Float64: Float64Array };

export function asRun(scheme: string, record: Record_, watched: Watched, buffers: ArrayBuffer[], link: number): Run {
  const columns = Object.fromEntries(watched.columns.map(({ name, dtype }, index) => [name, new ARRAYS[dtype](buffers[index]!)]));
  const events = {
    time: columns.time_s, what: columns.what, link: columns.link, packet: columns.packet, user: columns.user,
    label: columns.label, threshold: columns.threshold, queue: columns.queue_packets,
  } as Events;
  const waits = byGroup(columns, watched.group_of_user, record.groups.length, link);
  return { scheme, record, watched, events, waits, readings: columns.reading as Float32Array, link };
}

function byGroup(columns: Record<string, ArrayLike<number>>, groupOf: number[], groups: number, link: number): Float32Array[] {
  const { wait_s: waits, wait_user: users, wait_link: links } = columns as Record<string, ArrayLike<number>>;
  const kept: number[][] = Array.from({ length: groups }, () => []);
  for (let row = 0; row < waits!.length; row++) {
    if (links![row] === link) kept[groupOf[users![row]!]!]!.push(waits![row]!);
  }
  return kept.map((list) => Float32Array.from(list).sort());
}

/** Readings of the link's scheme at a time: name and value. */
export function readingsAt(run: Run, time: number): [string, number][] {
  const { interval_s, rows, names } = run.watched.readings;
  const width = names.reduce((sum, own) => sum + own.length, 0);
  const before = names.slice(0, run.link).reduce((sum, own) => sum + own.length, 0);
  const row = Math.max(0, Math.min(rows - 1, Math.floor(time / interval_s)));
  const value = (index: number) => run.readings[row * width + before + index] ?? NaN;
  return (names[run.link] ?? []).map((name, index): [string, number] => [name, value(index)]).filter(([, of]) => Number.isFinite(of));
}

/** 95th percentile of the waiting times of all groups. */
export function wait95(run: Run): number {
  const all = Float32Array.from(run.waits.flatMap((waits) => [...waits])).sort();
  return quantile(all, 0.95);
}

/** Throughput of a user of a group divided by its max-min share. */
export function normalised(run: Run, group: number): number {
  const { throughput_bps, max_min_share_bps } = run.record.groups[group]!;
  return throughput_bps / max_min_share_bps;
}
