// Five stories. Each step sets the whole state; its numbers are measured when it is shown, and its claims are tested.

import { GROUP, START, type Group, type State } from "./state";

/** A measured number: a scheme, and `wait95_ms`, `busy` or a group of users with what is asked of it. */
type Figure = `${string}.wait95_ms` | `${string}.busy` | `${string}.${string}.${"rate_mbps" | "share"}`;

/** What a step says beyond its numbers; the tests of the page hold it to that. */
export interface Claim { figure: Figure; above?: number; below?: number }

export interface Step {
  /** `{figure}` stands for a measured number. */
  text: string;
  state: Partial<State>;
  claims: Claim[];
}

export interface Story { id: string; title: string; steps: Step[] }

const tcp = (name: string, more: Partial<Group> = {}): Group => ({ ...GROUP, name, ...more });
const udp = (name: string, rateMbps: number, more: Partial<Group> = {}): Group => ({ ...GROUP, name, kind: "udp", rateMbps, ...more });

const HEAVY_AND_LIGHT = [tcp("heavy", { flows: 10 }), tcp("light")];
const FLOOD = [udp("flood", 20), tcp("download", { flows: 2 }), udp("call", 0.1)];
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
        text: "One download crosses a modem whose buffer holds 1000 packets. TCP stops when packets are lost, and here none are for a long time: the buffer fills, and whatever else crosses the link waits behind it. 95 % of packets wait less than {droptail.wait95_ms}, which is a lot beside a round trip of 40 ms.",
        state: { schemes: ["droptail"], groups: [tcp("download", { rttMs: 40 }), udp("call", 0.1)], bufferPackets: 1000 },
        claims: [{ figure: "droptail.wait95_ms", above: 200 }],
      },
      {
        text: "A short buffer is no way out if round trips differ: 20 packets keep the delay at {droptail.wait95_ms}, but a download from far away leaves the link idle; it is busy {droptail.busy} of the time.",
        state: { schemes: ["droptail"], groups: [tcp("download", { rttMs: 200 }), udp("call", 0.1)], bufferPackets: 20 },
        claims: [{ figure: "droptail.wait95_ms", below: 30 }, { figure: "droptail.busy", below: 0.9 }],
      },
      {
        text: "CoDel keeps the long buffer for bursts and looks at how long packets wait: if it is too long for a while, it drops at the head, a little more often each time. PIE turns the delay into a probability. 95 % wait less than {codel.wait95_ms} and {pie.wait95_ms}, where drop-tail has {droptail.wait95_ms}.",
        state: { schemes: ["droptail", "codel", "pie"], groups: [tcp("download", { rttMs: 40 }), udp("call", 0.1)], bufferPackets: 1000 },
        claims: [{ figure: "codel.wait95_ms", below: 60 }, { figure: "pie.wait95_ms", below: 80 }, { figure: "droptail.wait95_ms", above: 200 }],
      },
    ],
  },
  {
    id: "many-flows",
    title: "Many flows against one",
    steps: [
      {
        text: "Two users share 10 Mbit/s. One opens ten connections, the other has one. Drop-tail, like the Internet at large, is fair to connections at best: the heavy user gets {droptail.heavy.rate_mbps}, the light one {droptail.light.rate_mbps}.",
        state: { schemes: ["droptail"], groups: HEAVY_AND_LIGHT },
        claims: [{ figure: "droptail.heavy.share", above: 1.5 }, { figure: "droptail.light.share", below: 0.5 }],
      },
      {
        text: "With ABC the edge writes into each packet how active its user is: the labels on the packets. The port drops a packet if the queue is longer than its threshold, and the more active, the shorter is that. Watch the dashed line as packets of both colours arrive. Now they get {abc.heavy.rate_mbps} and {abc.light.rate_mbps}, and the port knows neither of them.",
        state: { schemes: ["droptail", "abc"], groups: HEAVY_AND_LIGHT },
        claims: [{ figure: "abc.heavy.share", above: 0.7, below: 1.3 }, { figure: "abc.light.share", above: 0.7, below: 1.3 }],
      },
      {
        text: "Fair queueing of flows does not help, as ten flows are ten queues: FQ-CoDel gives {fq_codel.heavy.rate_mbps} and {fq_codel.light.rate_mbps}. CAKE counts the flows of a host, and ABC its bits: {cake.light.rate_mbps} and {abc.light.rate_mbps} for the light user.",
        state: { schemes: ["fq_codel", "cake", "abc"], groups: HEAVY_AND_LIGHT },
        claims: [{ figure: "fq_codel.light.share", below: 0.5 }, { figure: "cake.light.share", above: 0.7 }, { figure: "abc.light.share", above: 0.7 }],
      },
      {
        text: "Who pays for more may get more: the light user's entitlement is now three times the other's. The ticks of the max-min share move, and ABC follows: {abc.light.rate_mbps} for one flow, {abc.heavy.rate_mbps} for ten.",
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
        text: "A sender that never backs off pours 20 Mbit/s into a link of 10. Under drop-tail it takes {droptail.flood.rate_mbps}; two TCP flows, which do back off, are left with {droptail.download.rate_mbps}, and the call loses packets like everybody.",
        state: { schemes: ["droptail"], groups: FLOOD },
        claims: [{ figure: "droptail.flood.share", above: 1.5 }, { figure: "droptail.download.share", below: 0.3 }],
      },
      {
        text: "An AQM that treats all packets alike cannot tell who is to blame: PIE drops as much as it takes to keep the queue short, and the flood keeps {pie.flood.rate_mbps}.",
        state: { schemes: ["droptail", "pie"], groups: FLOOD },
        claims: [{ figure: "pie.flood.share", above: 1.5 }, { figure: "pie.download.share", below: 0.3 }],
      },
      {
        text: "Here the labels, or queues of its own, single the flood out. It gets {abc.flood.rate_mbps} from ABC, {csfq.flood.rate_mbps} from CSFQ and {drr.flood.rate_mbps} from DRR; the call passes, and the download has {abc.download.rate_mbps}, {csfq.download.rate_mbps} and {drr.download.rate_mbps}. Only DRR keeps a queue for each. ABC is the strictest: its labels count what a user sends, not what of it arrives.",
        state: { schemes: ["abc", "csfq", "drr"], groups: FLOOD },
        claims: [
          { figure: "abc.flood.share", below: 1.3 }, { figure: "csfq.flood.share", below: 1.5 }, { figure: "drr.flood.share", below: 1.5 },
          { figure: "abc.download.share", above: 0.5 }, { figure: "abc.call.share", above: 0.9 },
        ],
      },
    ],
  },
  {
    id: "bbr",
    title: "BBR against CUBIC",
    steps: [
      {
        text: "CUBIC fills the buffer until it loses packets; BBR measures rate and round trip, and cares little about loss. With 25 packets of buffer, three quarters of what is on the way, CUBIC loses its race with the first BBR: {droptail.cubic.rate_mbps} against {droptail.bbr.rate_mbps}.",
        state: { schemes: ["droptail"], groups: race("bbr1"), bufferPackets: 25, measureS: 30 },
        claims: [{ figure: "droptail.bbr.share", above: 1.2 }],
      },
      {
        text: "The third BBR does heed loss, and is a better neighbour: {droptail.cubic.rate_mbps} against {droptail.bbr.rate_mbps}, over the same buffer.",
        state: { schemes: ["droptail"], groups: race("bbr3"), bufferPackets: 25, measureS: 30 },
        claims: [{ figure: "droptail.cubic.share", above: 0.7 }],
      },
      {
        text: "With 400 packets, and the first BBR again, it is the other way round: CUBIC fills what BBR does not dare to. {droptail.cubic.rate_mbps} against {droptail.bbr.rate_mbps}. Who wins is decided by the size of a buffer that neither can see.",
        state: { schemes: ["droptail"], groups: race("bbr1"), bufferPackets: 400, measureS: 30 },
        claims: [{ figure: "droptail.cubic.share", above: 1.2 }],
      },
      {
        text: "A link that shares by users ends the race, whatever they run: under DRR CUBIC has {drr.cubic.rate_mbps} and BBR {drr.bbr.rate_mbps}, under ABC {abc.cubic.rate_mbps} and {abc.bbr.rate_mbps}.",
        state: { schemes: ["droptail", "drr", "abc"], groups: race("bbr1"), bufferPackets: 100, measureS: 30 },
        claims: [{ figure: "drr.bbr.share", above: 0.75, below: 1.25 }, { figure: "drr.cubic.share", above: 0.75, below: 1.25 }],
      },
    ],
  },
  {
    id: "three-links",
    title: "Labels across three bottlenecks",
    steps: [
      {
        text: "A user crosses three congested links in a row, on each of which it meets another. It loses packets on all three, and has only {droptail.long.rate_mbps} of its max-min share of 5 Mbit/s.",
        state: { schemes: ["droptail"], groups: PARKING_LOT, links: 3 },
        claims: [{ figure: "droptail.long.share", below: 0.5 }],
      },
      {
        text: "The label is written once, at the edge, and read by every link: no link asks who the packet belongs to, or where it has been. ABC gives the long way {abc.long.rate_mbps}. Choose another link under “Pictures show” and look at its queue: the same packets with the same labels.",
        state: { schemes: ["droptail", "abc"], groups: PARKING_LOT, links: 3 },
        claims: [{ figure: "abc.long.share", above: 0.6 }],
      },
      {
        text: "CSFQ lowers the label where a link takes less than it says, so that the next link sees what is left: {csfq.long.rate_mbps}, beside {abc.long.rate_mbps} under ABC and {drr.long.rate_mbps} under DRR, which keeps a queue for every user at every link.",
        state: { schemes: ["abc", "csfq", "drr"], groups: PARKING_LOT, links: 3, link: 2 },
        claims: [{ figure: "abc.long.share", above: 0.6 }, { figure: "drr.long.share", above: 0.6 }],
      },
    ],
  },
];

/** The state of a step. */
export function stateOf(story: Story, step: number): State {
  return structuredClone({ ...START, ...story.steps[step]!.state, story: `${story.id}.${step + 1}` });
}

/** Story and step of an address, if it has any. */
export function told(story: string): { story: Story; step: number } | undefined {
  const [id, number] = story.split(".");
  const found = STORIES.find((one) => one.id === id);
  const step = Number(number) - 1;
  return found && found.steps[step] ? { story: found, step } : undefined;
}
