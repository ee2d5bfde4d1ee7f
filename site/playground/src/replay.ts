// Replays a run packet by packet: arrivals, waiting packets, departures and drops at a time of the simulation. Everything
// is read from the engine's events; nothing is random or invented.

import { LEAVES, WAITS, type Run } from "./run";

export interface Packet {
  number: number;
  user: number;
  label: number;
  link: number;
  /** Time of arrival, departure or drop. */
  time: number;
  /** Last drawn position, for smooth movement. */
  x?: number;
}

export class Replay {
  /** Packets in each queue, in order of departure. */
  waiting: Map<number, Packet>[] = [];
  /** Packets that left a queue or were dropped within the kept time. */
  sent: Packet[] = [];
  fallen: Packet[] = [];
  /** Threshold of the latest packet, by link. */
  thresholds: number[] = [];
  /** Row of the last drop at the displayed link; -1 before the first. */
  lastDrop = -1;
  private row = 0;
  private time = 0;
  /** Highest number so far. Numbers ascend with arrivals, so a higher one is a new packet. */
  private newest = -1;

  constructor(readonly run: Run) {
    this.rewind();
  }

  private rewind(): void {
    const links = this.run.watched.links;
    this.waiting = links.map(() => new Map());
    this.thresholds = links.map(() => NaN);
    [this.sent, this.fallen] = [[], []];
    [this.row, this.time, this.newest, this.lastDrop] = [0, 0, -1, -1];
  }

  /** Moves to a time; keeps departed and dropped packets for `kept` seconds of simulated time. */
  to(time: number, kept: number): void {
    if (time < this.time) this.rewind();
    this.time = time;
    const { events, link: shown } = this.run;
    for (; this.row < events.time.length && events.time[this.row]! <= time; this.row++) {
      const packet = this.packet(this.row);
      const waiting = this.waiting[packet.link]!;
      const what = events.what[this.row]!;
      if (Number.isFinite(events.threshold[this.row]!)) this.thresholds[packet.link] = events.threshold[this.row]!;
      this.newest = Math.max(this.newest, packet.number);
      if (what === WAITS) {
        waiting.set(packet.number, packet);
        continue;
      }
      const x = waiting.get(packet.number)?.x;
      waiting.delete(packet.number);
      if (what > LEAVES && packet.link === shown) this.lastDrop = this.row;
      if (packet.time > time - kept) (what === LEAVES ? this.sent : this.fallen).push(x === undefined ? packet : { ...packet, x });
    }
    this.sent = this.sent.filter((packet) => packet.time > time - kept);
    this.fallen = this.fallen.filter((packet) => packet.time > time - kept);
  }

  /** Packets that will arrive at a link by `until`. */
  coming(until: number): Packet[] {
    const { events } = this.run;
    const found = [];
    let newest = this.newest;
    for (let row = this.row; row < events.time.length && events.time[row]! <= until; row++) {
      if (events.packet[row]! <= newest) continue;
      newest = events.packet[row]!;
      found.push(this.packet(row));
    }
    return found;
  }

  private packet(row: number): Packet {
    const { events } = this.run;
    return { number: events.packet[row]!, user: events.user[row]!, label: events.label[row]!, link: events.link[row]!, time: events.time[row]! };
  }

  /** Time of the next drop at the displayed link. */
  nextDrop(after: number): number | undefined {
    const { events, link } = this.run;
    for (let row = 0; row < events.time.length; row++) {
      if (events.time[row]! > after && events.what[row]! > LEAVES && events.link[row] === link) return events.time[row]!;
    }
    return undefined;
  }
}
