// A run again, packet by packet: the packets that come to a link, wait, leave and fall at a time of the simulation. All of
// it is read from the engine's events; nothing here is drawn at random or made up.

import { LEAVES, WAITS, type Run } from "./run";

export interface Packet {
  number: number;
  user: number;
  label: number;
  link: number;
  /** When it came, left or fell. */
  time: number;
  /** Where it was drawn last, to let it glide. */
  x?: number;
}

export class Replay {
  /** Packets in each queue, the next to leave first. */
  waiting: Map<number, Packet>[] = [];
  /** Packets that left a queue or fell during the time that is kept. */
  sent: Packet[] = [];
  fallen: Packet[] = [];
  /** Last threshold that a packet met, link by link. */
  thresholds: number[] = [];
  /** Row of the last drop at the link that is shown; -1 before the first. */
  lastDrop = -1;
  private row = 0;
  private time = 0;
  /** Numbers ascend with arrivals, so a higher one is new. */
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

  /** Goes to a time; packets that have left or fallen are kept for `kept` seconds of the simulation. */
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

  /** Packets that will come to a link until a time. */
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

  /** When the next packet is dropped after a time, at the link that is shown. */
  nextDrop(after: number): number | undefined {
    const { events, link } = this.run;
    for (let row = 0; row < events.time.length; row++) {
      if (events.time[row]! > after && events.what[row]! > LEAVES && events.link[row] === link) return events.time[row]!;
    }
    return undefined;
  }
}
