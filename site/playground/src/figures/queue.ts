// The queue of a link as it moves: packets in the colours of their users with the labels that they carry, and those that
// are dropped, with the reason.

import { colour, h, themed } from "../dom";
import * as numbers from "../numbers";
import { LEAVES, readingsAt, WAITS, type Run } from "../run";

const HEIGHT = 148;
/** Where packets wait: top and height. */
const LANE = { top: 34, height: 44 };
/** Room at the left for what arrives, at the right for the link. */
const ARRIVES = 54;
const LINK = 62;
/** Widest and narrowest place of a packet. */
const WIDEST = 26;
const NARROWEST = 1.5;
/** How long a dropped packet is seen on the screen. */
const FALLS_S = 1.6;
/** Part of its way that a packet goes in a frame at a speed; more at higher ones, so that none lags behind. */
const pace = (speed: number) => Math.min(1, 0.14 * Math.max(1, speed / 0.01));

interface Waiting { user: number; label: number; x: number | undefined }
interface Falling { user: number; label: number; since: number; x: number; time: number }

export interface QueueFigure {
  element: HTMLElement;
  /** Shows another run, from its beginning. */
  show(run: Run): void;
  /** Draws the queue at a time of the simulation; `speed` is simulated time over time. */
  draw(time: number, speed: number): void;
  /** When the next packet is dropped after a time. */
  nextDrop(after: number): number | undefined;
  /** When the first packet is dropped in the measurement. */
  firstDrop(): number | undefined;
}

/** Schemes whose threshold is the shortest queue that drops, in packets as long as their parameters are. */
const QUEUE_THRESHOLDS = new Set(["abc"]);

export function queueFigure(thresholdInPackets: () => boolean): QueueFigure {
  const canvas = h("canvas", { role: "img", height: HEIGHT });
  const reason = h("p", { class: "reason" });
  const readings = h("p", { class: "facts" });
  const element = h("figure", { class: "queue" }, h("figcaption", {}, "The queue, packet by packet"), canvas, reason, readings);
  let run: Run;
  let row = 0;
  let shown = 0;
  let threshold = NaN;
  let lastDrop = -1;
  let waiting = new Map<number, Waiting>();
  let falling: Falling[] = [];
  let inService: Waiting | undefined;

  const rewind = () => {
    [row, threshold, lastDrop, inService] = [0, NaN, -1, undefined];
    [waiting, falling] = [new Map(), []];
  };

  const group = (user: number) => run.watched.group_of_user[user] ?? 0;

  const advance = (time: number, place: number, tail: number) => {
    const { events, link } = run;
    for (; row < events.time.length && events.time[row]! <= time; row++) {
      if (events.link[row] !== link) continue;
      const [what, packet] = [events.what[row]!, events.packet[row]!];
      const own = { user: events.user[row]!, label: events.label[row]!, x: undefined };
      if (Number.isFinite(events.threshold[row]!)) threshold = events.threshold[row]!;
      if (what === WAITS) {
        waiting.set(packet, own);
      } else if (what === LEAVES) {
        inService = waiting.get(packet) ?? own;
        waiting.delete(packet);
      } else {
        const x = waiting.get(packet)?.x ?? tail - waiting.size * place;
        waiting.delete(packet);
        lastDrop = row;
        falling.push({ ...own, since: performance.now() / 1000, x, time: events.time[row]! });
      }
    }
  };

  const draw = (time: number, speed: number) => {
    if (!run) return;
    const width = canvas.clientWidth || 300;
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== HEIGHT * ratio) canvas.height = HEIGHT * ratio;
    const most = Math.max(12, run.record.links[run.link]!.queue.max_packets);
    const place = Math.max(NARROWEST, Math.min(WIDEST, (width - ARRIVES - LINK) / most));
    const head = width - LINK;
    if (time < shown) rewind();
    advance(time, place, head);
    shown = time;
    const now = performance.now() / 1000;
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    drawLane(context, width, head);
    let index = 0;
    for (const packet of waiting.values()) {
      const target = head - (index++ + 1) * place;
      packet.x = packet.x === undefined || speed === 0 ? target : packet.x + (target - packet.x) * pace(speed);
      if (packet.x > 0) drawPacket(context, packet.x, LANE.top, place, colour(group(packet.user)), packet.label, 1);
    }
    drawLink(context, head, width, inService && colour(group(inService.user)));
    if (thresholdInPackets() && Number.isFinite(threshold)) drawThreshold(context, head - threshold * place, threshold);
    falling = falling.filter((packet) => now - packet.since < FALLS_S);
    for (const packet of falling.slice(-40)) {
      const age = (now - packet.since) / FALLS_S;
      const y = LANE.top + LANE.height + 6 + 26 * Math.min(1, 3 * age);
      drawPacket(context, Math.max(2, packet.x), y, Math.max(place, 10), colour(group(packet.user)), packet.label, 1 - age, 22, true);
    }
    const count = `${waiting.size} ${waiting.size === 1 ? "packet waits" : "packets wait"}`;
    context.fillStyle = themed("ink-soft");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText(count, head - 4, LANE.top - 10);
    tell(time, count);
  };

  const tell = (time: number, count: string) => {
    const why = lastDrop < 0 ? "No packet was dropped so far." : because(run, lastDrop, thresholdInPackets());
    if (reason.textContent !== why) reason.textContent = why;
    const measured = readingsAt(run, time).map(([name, value]) => numbers.reading(name, value));
    const line = measured.slice(0, 6).join(" · ");
    if (readings.textContent !== line) readings.textContent = line;
    canvas.setAttribute("aria-label", `At ${numbers.short(time)} s ${count} at the link. ${why}`);
  };

  const show = (next: Run) => {
    run = next;
    rewind();
    shown = 0;
  };

  const dropAfter = (after: number) => {
    const { events, link } = run;
    for (let at = 0; at < events.time.length; at++) {
      if (events.time[at]! > after && events.what[at]! > LEAVES && events.link[at] === link) return events.time[at]!;
    }
    return undefined;
  };

  return { element, show, draw, nextDrop: dropAfter, firstDrop: () => dropAfter(run.record.window_s[0]) };
}

/** Whether the line of the threshold may be drawn among the packets. */
export function drawsThreshold(scheme: string, params: Record<string, string>): boolean {
  return QUEUE_THRESHOLDS.has(scheme) && Object.entries(params).every(([key, value]) => !key.startsWith("queue.q_") || /packets?$/.test(value));
}

/** Why a packet was dropped, in a sentence. */
function because(run: Run, row: number, thresholdInPackets: boolean): string {
  const { events, record, watched } = run;
  const group = record.groups[watched.group_of_user[events.user[row]!] ?? 0]!;
  const [label, queue, what] = [events.label[row]!, events.queue[row]!, watched.what[events.what[row]!]];
  const who = `Dropped at ${numbers.short(events.time[row]!)} s: a packet of ${group.name}`;
  const labelled = label !== 0 ? `, label ${numbers.label(label)}` : "";
  if (what === "overlimit") return `${who}${labelled}. The buffer is full: ${queue} packets wait.`;
  if (what === "pushed_out") return `${who}${labelled}. It waited, and made room for another.`;
  const threshold = events.threshold[row]!;
  if (thresholdInPackets && Number.isFinite(threshold)) {
    return `${who}, activity ${numbers.label(label)}. Its threshold is ${numbers.label(threshold)} packets, and ${queue} wait.`;
  }
  return `${who}${labelled}. The scheme decided so, with ${queue} waiting.`;
}

function drawLane(context: CanvasRenderingContext2D, width: number, head: number): void {
  context.fillStyle = themed("shade");
  context.fillRect(0, LANE.top, head, LANE.height);
  context.strokeStyle = themed("rule");
  context.beginPath();
  for (const y of [LANE.top - 0.5, LANE.top + LANE.height + 0.5]) {
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
}

function drawLink(context: CanvasRenderingContext2D, head: number, width: number, own: string | undefined): void {
  context.fillStyle = own ?? themed("shade");
  context.fillRect(head + 6, LANE.top + 8, LINK - 24, LANE.height - 16);
  context.fillStyle = own ?? themed("rule");
  context.beginPath();
  context.moveTo(width - 16, LANE.top + 4);
  context.lineTo(width - 2, LANE.top + LANE.height / 2);
  context.lineTo(width - 16, LANE.top + LANE.height - 4);
  context.fill();
  context.fillStyle = themed("ink-soft");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText("link", width - 2, LANE.top - 10);
}

function drawThreshold(context: CanvasRenderingContext2D, x: number, threshold: number): void {
  context.save();
  context.strokeStyle = context.fillStyle = themed("ink");
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x, LANE.top - 8);
  context.lineTo(x, LANE.top + LANE.height + 8);
  context.stroke();
  context.font = "12px system-ui, sans-serif";
  context.textAlign = x < 60 ? "left" : "center";
  context.fillText(`threshold ${numbers.label(threshold)}`, x, LANE.top - 24 + 2);
  context.restore();
}

function drawPacket(
  context: CanvasRenderingContext2D, x: number, y: number, place: number, fill: string, label: number, opacity: number,
  height = LANE.height - 8, crossed = false,
): void {
  const width = Math.max(1, place - (place > 5 ? 1.5 : place > 2 ? 0.5 : 0));
  const top = crossed ? y : y + 4;
  context.save();
  context.globalAlpha = opacity;
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(x, top, width, height, Math.min(3, width / 3));
  context.fill();
  if (width >= 10 && label !== 0 && height > 30) {
    context.fillStyle = themed("on-user");
    context.font = "600 11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.translate(x + width / 2, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(numbers.label(label), 0, 0.5);
  } else if (crossed) {
    context.strokeStyle = themed("ground");
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x + 2, top + 4);
    context.lineTo(x + width - 2, top + height - 4);
    context.moveTo(x + width - 2, top + 4);
    context.lineTo(x + 2, top + height - 4);
    context.stroke();
  }
  context.restore();
}
