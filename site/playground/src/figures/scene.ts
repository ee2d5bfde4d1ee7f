// Animation of a scheme: users at the left, links with their queues in the middle, shares of the users at the right.
//
// Times of arrival, departure and drop, and the order of waiting packets, are the engine's events (replay.ts), exact to
// the nanosecond. Between users and links, packets move at a visible speed, such that each packet reaches the queue at
// its simulated time. On the wire, all packets take the time of 1514 bytes. The widths of the bands are means over the
// measurement, from the record: sent rates at the left, received rates at the right. A link is full if the bands fill
// its height.

import { brief } from "../controls";
import { h } from "../dom";
import type { GroupRecord } from "../messages";
import * as numbers from "../numbers";
import { Replay, type Packet } from "../replay";
import { normalised, readingsAt, type Run } from "../run";
import { LINK_DELAY_MS } from "../scenario";
import type { State } from "../state";
import { bendOf, heightAt, layoutOf, type Band, type Lane, type Layout } from "./layout";
import { crowd, quality } from "./quality";

const PACKET_BITS = 1514 * 8;
/** Time for which a dropped packet is visible. */
const FALLS_S = 1.1;
/** Maximum number of packets drawn before the links; more cannot be distinguished. */
const MOST_COMING = 1500;
/** Maximum speed at which labels are readable. */
const LEGIBLE = 0.01;
/** Figures below `NARROW` pixels have shorter texts; only those from `ROOMY` pixels show labels. */
const NARROW = 300;
const ROOMY = 600;
/** Fraction of its remaining distance that a packet moves per frame; larger at higher speeds, so that it keeps up. */
const pace = (speed: number) => Math.min(1, 0.14 * Math.max(1, speed / 0.01));

/** Common scale of all scenes, so that they can be compared. */
export interface SceneScale { user: number; queuePackets: number }

/** Schemes whose threshold is a queue length; it is in packets if their parameters are. */
const QUEUE_THRESHOLDS = new Set(["abc"]);

function drawsThreshold(scheme: string, params: Record<string, string>): boolean {
  return QUEUE_THRESHOLDS.has(scheme) && Object.entries(params).every(([key, value]) => !key.startsWith("queue.") || /packets?$/.test(value));
}

/** Data for drawing one moment. */
interface Brush { context: CanvasRenderingContext2D; layout: Layout; replay: Replay; time: number; speed: number; playing: boolean; theme: (name: string) => string; own: (packet: Packet) => string }

export class Scene {
  readonly element: HTMLElement;
  private readonly senders = h("ul", { class: "senders", "aria-label": "Users" });
  private readonly takers = h("ul", { class: "takers", "aria-label": "What each user gets" });
  private readonly canvas = h("canvas", { role: "img" });
  private readonly road = h("div", { class: "road" }, this.canvas);
  private readonly reason = h("p", { class: "reason" });
  private readonly readings = h("p", { class: "readings" });
  /** Label of the latest packet of each group. */
  private readonly labels = new Map<number, number>();
  private replay: Replay | undefined;
  private scale: SceneScale = { user: 1, queuePackets: 12 };

  constructor(private readonly state: State, private readonly scheme: string) {
    this.element = h("div", { class: "stage" }, this.senders, this.road, this.takers, h("div", { class: "now" }, this.reason, this.readings));
  }

  show(run: Run, scale: SceneScale): void {
    this.replay = new Replay(run);
    this.labels.clear();
    this.scale = scale;
    const own = (index: number) => `--own: var(--user-${index % 6})`;
    this.element.style.setProperty("--rows", String(run.record.groups.length));
    this.element.classList.toggle("row", this.state.links > 1);
    this.element.classList.toggle("few", run.record.groups.length < 3);
    this.senders.replaceChildren(...this.state.groups.map((group, index) =>
      h("li", { style: own(index) }, crowd(group), h("span", {}, h("b", {}, run.record.groups[index]!.name), h("small", {}, brief(group))))));
    this.takers.replaceChildren(...run.record.groups.map((group, index) => h("li", { style: own(index) }, ...taken(run, group, index, scale.user))));
  }

  nextDrop(after: number): number | undefined {
    return this.replay?.nextDrop(after);
  }

  /** Draws a time of the simulation; `speed` is simulated time per real time. */
  draw(time: number, speed: number, playing: boolean): void {
    const { replay, canvas, road } = this;
    const [width, height] = [road.clientWidth, road.clientHeight];
    if (!replay || !width) return;
    const [across, down] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    const context = canvas.getContext("2d")!;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${width < NARROW ? 11 : 12.5}px system-ui, sans-serif`;
    const style = getComputedStyle(document.documentElement);
    const theme = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const colours = this.state.groups.map((_, index) => theme(`user-${index % 6}`));
    const own = (packet: Packet) => colours[replay.run.watched.group_of_user[packet.user] ?? 0]!;
    const veiled = document.documentElement.hasAttribute("data-veiled");
    const layout = layoutOf(this.state, veiled ? undefined : replay.run, this.scale.queuePackets, width, height);
    const brush: Brush = { context, layout, replay, time, speed, playing, theme, own };
    for (const band of layout.bands) drawBand(context, band, colours[band.group]!);
    layout.lanes.forEach((lane, hop) => drawLane(brush, lane, this.title(hop, width)));
    if (veiled) return canvas.setAttribute("aria-label", "The animation starts after your guess.");
    replay.to(time, Math.max(FALLS_S, (2 * width) / pixelsPerS(width)) * speed + PACKET_BITS / this.bps);
    this.drawComing(brush);
    layout.lanes.forEach((lane, hop) => drawQueue(brush, lane, replay.waiting[hop]!));
    this.drawSent(brush);
    for (const packet of replay.fallen.slice(-60)) drawFallen(brush, packet);
    layout.lanes.forEach((lane, hop) => this.drawWords(brush, lane, hop));
    this.tell(brush);
  }

  private get bps(): number {
    return this.state.rateMbps * 1e6;
  }

  private title(hop: number, width: number): string {
    if (this.state.links > 1) return width < NARROW ? "" : `link ${hop + 1}`;
    return width < NARROW ? "link" : `link, ${numbers.short(this.state.rateMbps)} Mbit/s`;
  }

  /** Draws packets before their first queue. */
  private drawComing({ context, layout, replay, time, speed, theme, own }: Brush): void {
    const bands = layout.bands.filter(({ into }) => into);
    const pace = pixelsPerS(layout.width) / speed;
    const coming = replay.coming(time + layout.width / pace);
    for (const packet of coming.slice(0, MOST_COMING)) {
      const group = replay.run.watched.group_of_user[packet.user];
      const band = bands.find((one) => one.group === group && one.hop === packet.link);
      if (!band) continue; // it comes from the link before
      const x = band.to.x - (packet.time - time) * pace;
      if (x <= 0) continue;
      drawDot(context, x, heightAt(band, x) + spread(packet, band), layout, own(packet));
      if (packet.label) this.labels.set(band.group, packet.label);
    }
    if (layout.width < ROOMY || speed > LEGIBLE) return;
    context.fillStyle = theme("ink-soft");
    context.textAlign = "left";
    for (const { group, from, thick } of bands) {
      const label = this.labels.get(group);
      if (label) context.fillText(`label ${numbers.label(label)}`, 2, Math.max(11, from.y - thick / 2 - 6));
    }
  }

  /** Draws packets on the wire and after it. */
  private drawSent({ context, layout, replay, time, speed, own }: Brush): void {
    const wireS = PACKET_BITS / this.bps;
    for (const packet of replay.sent) {
      const group = replay.run.watched.group_of_user[packet.user];
      const band = layout.bands.find((one) => !one.into && one.group === group && one.hop === packet.link);
      if (!band) continue;
      const { head, end } = layout.lanes[packet.link]!;
      const age = time - packet.time;
      if (age < wireS) {
        drawDot(context, head + ((end - head) * age) / wireS, layout.laneY, layout, own(packet));
        continue;
      }
      const last = packet.link === layout.lanes.length - 1 || this.state.groups[group!]!.link > 0;
      const x = last
        ? end + ((age - wireS) * pixelsPerS(layout.width)) / speed
        : end + ((band.to.x - end) * (age - wireS)) / (LINK_DELAY_MS / 1000);
      if (x < band.to.x) drawDot(context, x, heightAt(band, x) + spread(packet, band), layout, own(packet));
    }
  }

  private drawWords({ context, layout, replay, theme }: Brush, lane: Lane, hop: number): void {
    const threshold = replay.thresholds[hop]!;
    if (drawsThreshold(this.scheme, this.state.params[this.scheme] ?? {}) && Number.isFinite(threshold)) drawThreshold(context, lane, layout, threshold, theme("ink"));
    const count = replay.waiting[hop]!.size;
    const words = layout.width < NARROW ? (layout.lanes.length > 1 ? ["", ""] : ["", " wait"]) : ["queue: ", count === 1 ? " packet" : " packets"];
    context.fillStyle = theme("ink");
    context.textAlign = "left";
    context.fillText(words.join(String(count)), lane.entry, layout.laneY - layout.laneHeight / 2 - 6);
  }

  private tell({ replay, time }: Brush): void {
    const { run, lastDrop } = replay;
    const count = replay.waiting[run.link]!.size;
    const why = lastDrop < 0 ? "No packet has been dropped so far." : because(run, lastDrop, drawsThreshold(this.scheme, this.state.params[this.scheme] ?? {}));
    const readings = readingsAt(run, time).map(([name, value]) => numbers.reading(name, value)).slice(0, 6).join(" · ");
    if (this.reason.textContent !== why) this.reason.textContent = why;
    if (this.readings.textContent !== readings) this.readings.textContent = readings;
    this.canvas.setAttribute("aria-label", `At ${numbers.short(time)} s ${count} ${count === 1 ? "packet waits" : "packets wait"} at the link. ${why}`);
  }
}

/** Throughput of a group's users, with a tick at the max-min share and, for several users, a dot for each. */
function taken(run: Run, group: GroupRecord, index: number, most: number): Element[] {
  const at = (bps: number) => `${Math.min(100, (100 * bps) / most)}%`;
  const dots = group.users > 1 ? group.user_throughput_bps.map((bps) => h("i", { style: `left: ${at(bps)}` })) : [];
  return [
    ...quality(run, index),
    h("span", { class: "value" }, h("b", {}, numbers.rate(group.throughput_bps)), h("small", {}, `${group.users > 1 ? "each, " : ""}${Number(normalised(run, index).toPrecision(2))} × fair`)),
    h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "fill", style: `width: ${at(group.throughput_bps)}` }), ...dots, h("span", { class: "tick", style: `left: ${at(group.max_min_share_bps)}` })),
  ];
}

/** Speed of packets between users and links, in pixels per second. */
function pixelsPerS(width: number): number {
  return Math.max(90, width / 2.2);
}

/** Vertical offset of a packet, which spreads packets over the width of their band. */
function spread(packet: Packet, band: Band): number {
  return (((packet.number * 7) % 11) / 10 - 0.5) * Math.max(0, band.thick - 8);
}

/** Sentence about the reason of a drop. */
function because(run: Run, row: number, thresholdInPackets: boolean): string {
  const { events, record, watched } = run;
  const group = record.groups[watched.group_of_user[events.user[row]!] ?? 0]!;
  const [label, queue, what] = [events.label[row]!, events.queue[row]!, watched.what[events.what[row]!]];
  const who = `Dropped at ${numbers.short(events.time[row]!)} s: a packet of ${group.name}`;
  const labelled = label !== 0 ? `, label ${numbers.label(label)}` : "";
  if (what === "overlimit") return `${who}${labelled}. The buffer is full: ${queue} packets wait.`;
  if (what === "pushed_out") return `${who}${labelled}. It was in the queue and made room for another packet.`;
  const threshold = events.threshold[row]!;
  if (thresholdInPackets && Number.isFinite(threshold)) {
    return `${who}, activity ${numbers.label(label)}. Its threshold is ${numbers.label(threshold)} packets, and ${queue} wait.`;
  }
  return `${who}${labelled}. The scheme dropped it while ${queue} packets waited.`;
}

function drawBand(context: CanvasRenderingContext2D, band: Band, colour: string): void {
  const [start, end] = bendOf(band);
  const bend = Array.from({ length: 25 }, (_, step) => start + ((end - start) * step) / 24);
  context.globalAlpha = 0.22;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(2, Math.min(band.thick, 0.8 * band.bend)); // a thicker one has no bend that short
  context.lineJoin = "round";
  context.beginPath();
  for (const x of [band.from.x, ...bend, band.to.x]) context.lineTo(x, heightAt(band, x));
  context.stroke();
  context.globalAlpha = 1;
}

/** Draws the queue and the wire after it. */
function drawLane({ context, layout, theme }: Brush, { entry, head, end }: Lane, title: string): void {
  const { laneY, laneHeight } = layout;
  const top = laneY - laneHeight / 2;
  context.fillStyle = theme("lane");
  context.beginPath();
  context.roundRect(entry - 2, top, head - entry + 2, laneHeight, [6, 0, 0, 6]);
  context.fill();
  context.fillStyle = theme("wire");
  context.fillRect(head, top, end - head - 4, laneHeight);
  context.beginPath();
  context.moveTo(end - 4, top);
  context.lineTo(end + Math.min(10, laneHeight / 4), laneY);
  context.lineTo(end - 4, top + laneHeight);
  context.fill();
  context.strokeStyle = theme("ink");
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(entry - 2, top);
  context.lineTo(head, top);
  context.moveTo(entry - 2, top + laneHeight);
  context.lineTo(head, top + laneHeight);
  context.moveTo(head, top - 3);
  context.lineTo(head, top + laneHeight + 3);
  context.stroke();
  context.fillStyle = theme("ink-soft");
  context.textAlign = "right";
  context.textBaseline = "alphabetic";
  context.fillText(title, end, top - 6);
}

function drawQueue({ context, layout, playing, speed, theme, own }: Brush, { entry, head }: Lane, waiting: Map<number, Packet>): void {
  let index = 0;
  const width = Math.max(1, layout.place - (layout.place > 5 ? 1.5 : layout.place > 2 ? 0.5 : 0));
  const height = layout.laneHeight - 8;
  const onUser = theme("on-user");
  for (const packet of waiting.values()) {
    const target = head - (index++ + 1) * layout.place;
    const from = packet.x ?? entry;
    packet.x = playing ? from + (target - from) * pace(speed) : target;
    if (packet.x < entry - 2) continue;
    context.fillStyle = own(packet);
    context.beginPath();
    context.roundRect(packet.x, layout.laneY - height / 2, width, height, Math.min(3, width / 3));
    context.fill();
    if (width >= 11 && packet.label !== 0 && height > 26) drawLabel(context, packet, packet.x + width / 2, layout.laneY, onUser);
  }
}

function drawLabel(context: CanvasRenderingContext2D, { label }: Packet, x: number, y: number, colour: string): void {
  context.save();
  context.fillStyle = colour;
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.fillText(numbers.label(label), 0, 0.5);
  context.restore();
}

function drawDot(context: CanvasRenderingContext2D, x: number, y: number, layout: Layout, colour: string): void {
  const size = layout.width < NARROW ? 6 : 9;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x - size / 2, y - size / 2, size, size, 2);
  context.fill();
}

/** Draws a dropped packet, crossed out and falling from its last position. */
function drawFallen({ context, layout, time, speed, theme, own }: Brush, packet: Packet): void {
  const age = (time - packet.time) / (FALLS_S * speed);
  if (age < 0 || age > 1) return;
  const { entry } = layout.lanes[packet.link]!;
  const bottom = layout.laneY + layout.laneHeight / 2;
  const size = layout.width < NARROW ? 8 : 12;
  const y = bottom + 4 + Math.min(36, layout.height - bottom - size - 5) * Math.min(1, 2.2 * age);
  const x = packet.x ?? entry + ((packet.number * 5) % 7) * 3 - 6;
  context.globalAlpha = 1 - age ** 2;
  context.fillStyle = own(packet);
  context.beginPath();
  context.roundRect(x, y, size, size, 2);
  context.fill();
  context.strokeStyle = theme("ground");
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x + 2, y + 2);
  context.lineTo(x + size - 2, y + size - 2);
  context.moveTo(x + size - 2, y + 2);
  context.lineTo(x + 2, y + size - 2);
  context.stroke();
  context.globalAlpha = 1;
}

function drawThreshold(context: CanvasRenderingContext2D, { entry, head }: Lane, layout: Layout, threshold: number, ink: string): void {
  const x = head - threshold * layout.place;
  if (x < entry) return;
  const bottom = layout.laneY + layout.laneHeight / 2;
  context.save();
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x, bottom - layout.laneHeight);
  context.lineTo(x, bottom + 7);
  context.stroke();
  context.textAlign = "right";
  if (head - entry > 80) context.fillText(`threshold ${numbers.label(threshold)}`, Math.min(head, Math.max(entry + 80, x + 30)), bottom + 19);
  context.restore();
}
