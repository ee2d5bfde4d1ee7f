// The stories. Each step sets the whole state. Its numbers are measured when it is shown, and tests check its claims.

import { GROUP, START, type Group, type State } from "./state";

/** A measured number: a scheme, and `wait95_ms`, `busy`, or a group with one of its metrics. */
type Figure = `${string}.wait95_ms` | `${string}.busy` | `${string}.${string}.${"rate_mbps" | "share" | "lost" | "mos" | "bitrate_mbps"}`;

/** A statement of a step beyond its numbers; the tests of the page check it. */
export interface Claim { figure: Figure; above?: number; below?: number }

/** Subject of a step: all scenes, a part of them, or a chart of the first scheme. */
export type Subject = "scene" | "shares" | "facts" | "quality" | "throughput" | "waits";

/** A question before the results are shown. */
export interface Ask { setup: string; question: string; options: string[]; right: number }

export interface Step {
  ask?: Ask;
  /** Text in which `{figure}` is replaced by a measured number. */
  text: string;
  subject?: Subject;
  state: Partial<State>;
  claims: Claim[];
}

export interface Story { id: string; title: string; steps: Step[] }

const tcp = (name: string, more: Partial<Group> = {}): Group => ({ ...GROUP, name, ...more });
const udp = (name: string, rateMbps: number, more: Partial<Group> = {}): Group => ({ ...GROUP, name, kind: "udp", rateMbps, ...more });
const call: Group = { ...GROUP, name: "call", kind: "call" };
const video: Group = { ...GROUP, name: "video", kind: "video" };

const HEAVY_AND_LIGHT = [tcp("heavy", { flows: 10 }), tcp("light")];
const FLOOD = [udp("flood", 20), tcp("download", { flows: 2 }), call];
const HOME = [tcp("download", { flows: 4 }), call, video];
const race = (control: string) => [tcp("cubic", { rttMs: 40 }), tcp("bbr", { rttMs: 40, control })];
const PARKING_LOT = [
  tcp("long", { rttMs: 30, flows: 2 }),
  ...[1, 2, 3].map((link) => tcp(`cross ${link}`, { rttMs: 30, flows: 4, link })),
];

export const STORIES: Story[] = [
  {
    id: "bufferbloat",
    title: "Bufferbloat",
    steps: [
      {
        ask: {
          setup: "A download and a call share a modem whose buffer holds 1000 packets. TCP slows down only when a packet is lost.",
          question: "How long do packets wait in the modem?", options: ["At most 20 ms", "About 100 ms", "Most of a second"], right: 2,
        },
        text: "Nothing is lost until the buffer is full, and all packets wait behind the download: 95 % wait less than {droptail.wait95_ms}.",
        subject: "facts",
        state: { schemes: ["droptail"], groups: [tcp("download", { rttMs: 40 }), call], bufferPackets: 1000, main: "buffer" },
        claims: [{ figure: "droptail.wait95_ms", above: 400 }],
      },
      {
        text: "A short buffer does not help. 20 packets keep the wait at {droptail.wait95_ms}, but a distant download slows down too early: the link is busy only {droptail.busy} of the time.",
        subject: "throughput",
        state: { schemes: ["droptail"], groups: [tcp("download", { rttMs: 200 }), call], bufferPackets: 20, main: "buffer" },
        claims: [{ figure: "droptail.wait95_ms", below: 30 }, { figure: "droptail.busy", below: 0.9 }],
      },
      {
        text: "CoDel and PIE keep the long buffer, but drop packets early when packets wait too long. 95 % wait less than {codel.wait95_ms} and {pie.wait95_ms}, compared with {droptail.wait95_ms} under drop-tail.",
        subject: "facts",
        state: { schemes: ["droptail", "codel", "pie"], groups: [tcp("download", { rttMs: 40 }), call], bufferPackets: 1000, main: "buffer" },
        claims: [{ figure: "codel.wait95_ms", below: 60 }, { figure: "pie.wait95_ms", below: 80 }, { figure: "droptail.wait95_ms", above: 200 }],
      },
    ],
  },
  {
    id: "home",
    title: "A call and a video",
    steps: [
      {
        ask: {
          setup: "Someone at home downloads a game over four connections. Others call and watch a video over the same link.",
          question: "How good is the call?", options: ["Excellent", "Fair", "Bad"], right: 2,
        },
        text: "The call scores {droptail.call.mos} of 4.5: its packets wait behind the download and arrive too late. The video gets {droptail.video.bitrate_mbps}.",
        subject: "quality",
        state: { schemes: ["droptail"], groups: HOME, bufferPackets: 1000, main: "buffer" },
        claims: [{ figure: "droptail.call.mos", below: 1.6 }],
      },
      {
        text: "FQ-CoDel gives each flow a queue and serves sparse flows first. The same call scores {fq_codel.call.mos}; the video gets {fq_codel.video.bitrate_mbps}. Listen to both.",
        subject: "quality",
        state: { schemes: ["droptail", "fq_codel"], groups: HOME, bufferPackets: 1000, main: "flows.0" },
        claims: [{ figure: "fq_codel.call.mos", above: 4 }],
      },
      {
        text: "Now the download opens 16 connections. FQ-CoDel shares among connections, and the video has one: {fq_codel.video.bitrate_mbps}. CAKE shares among users: {cake.video.bitrate_mbps}.",
        subject: "quality",
        state: { schemes: ["fq_codel", "cake"], groups: [tcp("download", { flows: 16 }), call, video], bufferPackets: 250, main: "flows.0" },
        claims: [{ figure: "fq_codel.video.bitrate_mbps", below: 1 }, { figure: "cake.video.bitrate_mbps", above: 1.5 }],
      },
    ],
  },
  {
    id: "many-flows",
    title: "Many flows against one",
    steps: [
      {
        ask: {
          setup: "Two users share 10 Mbit/s. One opens ten connections, the other has one.",
          question: "What does the light user get?", options: ["Half of the link", "A third", "About a tenth"], right: 2,
        },
        text: "Drop-tail, like most of the Internet, is fair to connections at best. The heavy user gets {droptail.heavy.rate_mbps}, the light one {droptail.light.rate_mbps}.",
        subject: "shares",
        state: { schemes: ["droptail"], groups: HEAVY_AND_LIGHT },
        claims: [{ figure: "droptail.heavy.share", above: 1.5 }, { figure: "droptail.light.share", below: 0.3 }],
      },
      {
        ask: {
          setup: "With ABC, the edge writes a user's activity into each packet. The port drops a packet if the queue exceeds its threshold, which shrinks as the activity grows.",
          question: "Who loses packets now?", options: ["Both equally", "Mostly the heavy user", "Mostly the light user"], right: 1,
        },
        text: "The heavy user loses {abc.heavy.lost}, the light one {abc.light.lost}. They get {abc.heavy.rate_mbps} and {abc.light.rate_mbps}, although the port has no state of either. The dashed line is the threshold of the latest packet.",
        state: { schemes: ["droptail", "abc"], groups: HEAVY_AND_LIGHT },
        claims: [
          { figure: "abc.heavy.share", above: 0.7, below: 1.3 }, { figure: "abc.light.share", above: 0.7, below: 1.3 },
          { figure: "abc.heavy.lost", above: 0.08 }, { figure: "abc.light.lost", below: 0.02 },
        ],
      },
      {
        text: "Fair queueing of flows does not help, since ten flows have ten queues: FQ-CoDel gives the light user {fq_codel.light.rate_mbps}. CAKE counts flows per host, ABC meters users: {cake.light.rate_mbps} and {abc.light.rate_mbps}.",
        subject: "shares",
        state: { schemes: ["fq_codel", "cake", "abc"], groups: HEAVY_AND_LIGHT },
        claims: [{ figure: "fq_codel.light.share", below: 0.5 }, { figure: "cake.light.share", above: 0.7 }, { figure: "abc.light.share", above: 0.7 }],
      },
      {
        ask: {
          setup: "The light user now pays for three times the other's share.",
          question: "What does it get under ABC?", options: ["A tenth", "Half", "Nearly three quarters"], right: 2,
        },
        text: "The ticks of the fair share move, and ABC follows: {abc.light.rate_mbps} for one flow, {abc.heavy.rate_mbps} for ten.",
        subject: "shares",
        state: { schemes: ["droptail", "abc"], groups: [tcp("heavy", { flows: 10 }), tcp("light", { weight: 3 })] },
        claims: [{ figure: "abc.light.rate_mbps", above: 5 }, { figure: "droptail.light.share", below: 0.5 }],
      },
    ],
  },
  {
    id: "flood",
    title: "UDP flood",
    steps: [
      {
        ask: {
          setup: "A sender that never slows down sends 20 Mbit/s into a link of 10. A download and a call share the link.",
          question: "Who gets the link?", options: ["All share it", "The flood", "The download"], right: 1,
        },
        text: "The flood takes {droptail.flood.rate_mbps}. The download slows down with each lost packet, and gets only {droptail.download.rate_mbps}. The call loses {droptail.call.lost}.",
        state: { schemes: ["droptail"], groups: FLOOD },
        claims: [{ figure: "droptail.flood.share", above: 1.5 }, { figure: "droptail.download.share", below: 0.3 }, { figure: "droptail.call.mos", below: 2 }, { figure: "droptail.call.lost", above: 0.3 }],
      },
      {
        text: "An AQM that treats all packets equally cannot limit the flood. PIE drops enough to keep the queue short, but the flood still gets {pie.flood.rate_mbps}.",
        state: { schemes: ["droptail", "pie"], groups: FLOOD },
        claims: [{ figure: "pie.flood.share", above: 1.5 }, { figure: "pie.download.share", below: 0.3 }],
      },
      {
        text: "Labels, or separate queues, limit the flood: {abc.flood.rate_mbps} under ABC, {csfq.flood.rate_mbps} under CSFQ, {drr.flood.rate_mbps} under DRR. Only DRR keeps a queue per user. ABC is the strictest: it meters what a user sends, not what arrives.",
        subject: "shares",
        state: { schemes: ["abc", "csfq", "drr"], groups: FLOOD },
        claims: [
          { figure: "abc.flood.share", below: 1.3 }, { figure: "csfq.flood.share", below: 1.5 }, { figure: "drr.flood.share", below: 1.5 },
          { figure: "abc.download.share", above: 0.5 }, { figure: "abc.call.share", above: 0.9 }, { figure: "abc.call.mos", above: 3 },
        ],
      },
    ],
  },
  {
    id: "bbr",
    title: "BBR against CUBIC",
    steps: [
      {
        ask: {
          setup: "CUBIC slows down when packets are lost. The first BBR measures rate and round trip, and mostly ignores loss. The buffer holds 25 packets.",
          question: "Which one is faster?", options: ["CUBIC", "BBR", "Both are equal"], right: 1,
        },
        text: "Such a short buffer often drops, and only CUBIC slows down: CUBIC gets {droptail.cubic.rate_mbps}, BBR {droptail.bbr.rate_mbps}.",
        subject: "shares",
        state: { schemes: ["droptail"], groups: race("bbr1"), bufferPackets: 25, measureS: 30, main: "buffer" },
        claims: [{ figure: "droptail.bbr.share", above: 1.2 }],
      },
      {
        text: "The third BBR responds to loss. With the same buffer, CUBIC gets {droptail.cubic.rate_mbps}, BBR {droptail.bbr.rate_mbps}.",
        subject: "throughput",
        state: { schemes: ["droptail"], groups: race("bbr3"), bufferPackets: 25, measureS: 30, main: "buffer" },
        claims: [{ figure: "droptail.cubic.share", above: 0.7 }],
      },
      {
        ask: {
          setup: "The first BBR again, but with a buffer of 400 packets. BBR tries to keep it empty.",
          question: "Which one is faster now?", options: ["CUBIC", "BBR", "Both are equal"], right: 0,
        },
        text: "CUBIC fills the buffer, and BBR mistakes the full queue for a long path: CUBIC gets {droptail.cubic.rate_mbps}, BBR {droptail.bbr.rate_mbps}. The buffer size decides who wins.",
        subject: "shares",
        state: { schemes: ["droptail"], groups: race("bbr1"), bufferPackets: 400, measureS: 30, main: "buffer" },
        claims: [{ figure: "droptail.cubic.share", above: 1.2 }],
      },
      {
        text: "Fair sharing among users ends the race: CUBIC and BBR get {drr.cubic.rate_mbps} and {drr.bbr.rate_mbps} under DRR, {abc.cubic.rate_mbps} and {abc.bbr.rate_mbps} under ABC.",
        subject: "shares",
        state: { schemes: ["droptail", "drr", "abc"], groups: race("bbr1"), bufferPackets: 100, measureS: 30, main: "buffer" },
        claims: [{ figure: "drr.bbr.share", above: 0.75, below: 1.25 }, { figure: "drr.cubic.share", above: 0.75, below: 1.25 }],
      },
    ],
  },
  {
    id: "three-links",
    title: "Three links in a row",
    steps: [
      {
        ask: {
          setup: "One user crosses three full links and shares each with another user. Its fair share is 5 Mbit/s.",
          question: "What does it get?", options: ["5 Mbit/s", "About 4 Mbit/s", "Less than half of its share"], right: 2,
        },
        text: "It loses packets on all three links and gets {droptail.long.rate_mbps}.",
        state: { schemes: ["droptail"], groups: PARKING_LOT, links: 3 },
        claims: [{ figure: "droptail.long.share", below: 0.5 }],
      },
      {
        text: "ABC writes the label once, at the edge, and every link reads it. No link needs to know the packet's user or its path. The long path gets {abc.long.rate_mbps}.",
        state: { schemes: ["droptail", "abc"], groups: PARKING_LOT, links: 3 },
        claims: [{ figure: "abc.long.share", above: 0.6 }],
      },
      {
        text: "CSFQ lowers the label if a link forwards less, so the next link sees what is left: {csfq.long.rate_mbps}. DRR keeps a queue per user at every link: {drr.long.rate_mbps}.",
        subject: "shares",
        state: { schemes: ["csfq", "drr"], groups: PARKING_LOT, links: 3, link: 2 },
        claims: [{ figure: "drr.long.share", above: 0.6 }],
      },
    ],
  },
];

/** The state of a step. */
export function stateOf(story: Story, step: number): State {
  return structuredClone({ ...START, ...story.steps[step]!.state, story: `${story.id}.${step + 1}` });
}

/** Story and step in an address, if any. */
export function told(story: string): { story: Story; step: number } | undefined {
  const [id, number] = story.split(".");
  const found = STORIES.find((one) => one.id === id);
  const step = Number(number) - 1;
  return found && found.steps[step] ? { story: found, step } : undefined;
}
