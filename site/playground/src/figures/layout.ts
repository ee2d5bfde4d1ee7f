// Layout of a scene: the links in a row, and the bands along which users' packets arrive and depart.

import type { Run } from "../run";
import type { State } from "../state";

/** Maximum width of a packet in a queue, in pixels. */
const WIDEST = 24;

/** A link, with its queue from `entry` to `head` and its wire from `head` to `end`. */
export interface Lane { entry: number; head: number; end: number }

interface Point { x: number; y: number }

/** Path of a group to the queue of a link, or from a link to the next link or to the right edge. */
export interface Band { group: number; hop: number; from: Point; to: Point; bend: number; thick: number; into: boolean }

export interface Layout { width: number; height: number; lanes: Lane[]; laneY: number; laneHeight: number; place: number; bands: Band[] }

/** The layout for a run. Without a run, rates are unknown and all bands have the same width. */
export function layoutOf(state: State, run: Run | undefined, queuePackets: number, width: number, height: number): Layout {
  const { groups, links } = state;
  const several = links > 1;
  const side = Math.max(26, Math.min(130, (several ? 0.1 : 0.16) * width));
  const between = several ? 0.13 * (width - 2 * side) : side;
  const each = (width - 2 * side - (several ? between * (links - 1) : 0)) / links;
  const lanes = Array.from({ length: links }, (_, hop) => {
    const entry = side + hop * (each + between);
    return { entry, head: entry + 0.8 * each, end: entry + each };
  });
  const rowY = (group: number) => ((group + 0.5) * height) / groups.length;
  const laneHeight = Math.min(46, several ? 0.6 * (height / groups.length) : 0.36 * height);
  // Several links are in the row of the group that crosses all of them; other groups join and leave as at a junction.
  const laneY = several ? rowY(Math.max(0, groups.findIndex((group) => group.link === 0))) + 4 : height / 2;
  const pixels = (bps: number) => (0.8 * laneHeight * bps) / (state.rateMbps * 1e6);
  const alike = groups.map(() => (0.6 * laneHeight) / groups.length);
  const [sent, taken] = [0, 1].map((arrived) => run?.record.groups.map(({ throughput_bps, users, path }) => {
    const dropped = path.delivered_packets ? path.dropped_packets / path.delivered_packets : 0;
    return Math.min(0.9 * height, pixels(throughput_bps * users) * (arrived ? 1 : 1 + dropped));
  }) ?? alike) as [number[], number[]];
  /** Width of a band. Groups that cross all links lose a part of their packets at each. */
  const thick = (group: number, passed: number, hop: number): number => {
    const done = groups[group]!.link ? Number(passed > hop) : passed / links;
    return sent[group]! + (taken[group]! - sent[group]!) * done;
  };
  const bands = lanes.flatMap(({ entry, end }, hop): Band[] => {
    const crossing = groups.flatMap(({ link }, group) => (link === 0 || link === hop + 1 ? [group] : []));
    const stacked = (passed: number) => {
      let top = laneY - crossing.reduce((sum, group) => sum + thick(group, passed, hop), 0) / 2;
      return new Map(crossing.map((group) => [group, (top += thick(group, passed, hop)) - thick(group, passed, hop) / 2]));
    };
    const [ins, outs] = [stacked(hop), stacked(hop + 1)];
    const bend = several ? 0.85 * Math.min(between, side) : side;
    return crossing.flatMap((group) => {
      const alone = groups[group]!.link > 0;
      const edge = (x: number, own: number) => ({ x, y: Math.max(own / 2, Math.min(height - own / 2, rowY(group))) });
      const [came, left] = [thick(group, hop, hop), thick(group, hop + 1, hop)];
      const into: Band = { group, hop, bend, into: true, thick: came, from: edge(0, came), to: { x: entry, y: ins.get(group)! } };
      const leaves = alone || hop === links - 1;
      const to = leaves ? edge(width, left) : { x: lanes[hop + 1]!.entry, y: outs.get(group)! };
      const out: Band = { group, hop, bend, into: false, thick: left, from: { x: end - 4, y: outs.get(group)! }, to };
      return alone || hop === 0 ? [into, out] : [out];
    });
  });
  return { width, height, lanes, laneY, laneHeight, place: Math.min(WIDEST, (lanes[0]!.head - lanes[0]!.entry) / queuePackets), bands };
}

/** Start and end of a band's bend, just before or just after the link. */
export function bendOf({ from, to, bend, into }: Band): [number, number] {
  return into ? [Math.max(from.x, to.x - bend), to.x] : [from.x, Math.min(to.x, from.x + bend)];
}

/** Vertical position of a band at `x`. */
export function heightAt(band: Band, x: number): number {
  const [start, end] = bendOf(band);
  const part = Math.max(0, Math.min(1, (x - start) / (end - start || 1)));
  return band.from.y + (band.to.y - band.from.y) * part * part * (3 - 2 * part);
}
