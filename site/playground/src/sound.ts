// Sound of a call: a synthetic voice in packets of 20 ms, silent while the simulated call has nothing to play.

import { CALL } from "./scenario";
import { LEAVES, WAITS, type Run } from "./run";

const SAMPLE_HZ = 16_000;
const FRAME = SAMPLE_HZ * (CALL.intervalMs / 1000);
/** Duration of the played part of the call. */
const HEARD_S = 6;
/** Formants in Hz of a sequence of vowels. */
const VOWELS = [[730, 1090], [270, 2290], [570, 840], [530, 1840], [300, 870], [660, 1720]] as const;

/**
 * For each packet of a group's first call, true if it is played. Dropped packets are not played. Neither are packets
 * that waited longer than the first packet by more than the receiver's buffer.
 */
export function played(run: Run, group: number): boolean[] {
  const { events, record, watched } = run;
  const caller = watched.group_of_user.indexOf(group);
  const [from] = record.window_s;
  // Packets of a call stay in order: the nth packet at a link is the nth that left the previous link.
  let waits: (number | undefined)[] = [];
  let places: number[] | undefined;
  for (let link = 0; link < watched.links.length; link++) {
    const came = new Map<number, { place: number; time: number }>();
    const left: number[] = [];
    let next = 0;
    for (let row = 0; row < events.time.length; row++) {
      if (events.user[row] !== caller || events.link[row] !== link) continue;
      const [packet, what, time] = [events.packet[row]!, events.what[row]!, events.time[row]!];
      if (!came.has(packet)) {
        const place: number = places ? places[next]! : next;
        if (place === undefined) break;
        next++;
        if (!places) waits[place] = time >= from ? 0 : undefined;
        came.set(packet, { place, time });
      }
      if (what === WAITS) continue;
      const { place, time: since } = came.get(packet)!;
      if (what === LEAVES) left.push(place);
      if (waits[place] !== undefined) waits[place] = what === LEAVES ? waits[place]! + time - since : Infinity;
    }
    if (next) places = left;
  }
  waits = waits.filter((wait) => wait !== undefined);
  const first = waits.find((wait) => Number.isFinite(wait)) ?? 0;
  return waits.map((wait) => wait! - first <= CALL.bufferMs / 1000);
}

/** Samples of the voice, with gaps for packets that are not played. */
function voice(frames: boolean[]): Float32Array<ArrayBuffer> {
  const samples = new Float32Array(frames.length * FRAME);
  let phase = 0;
  frames.forEach((heard, frame) => {
    const time = (frame * CALL.intervalMs) / 1000;
    const syllable = time * 3.2;
    const pitch = 125 + 22 * Math.sin(time * 2.1) + 9 * Math.sin(time * 5.3);
    const vowel = VOWELS[Math.floor(syllable) % VOWELS.length]!;
    const loud = heard ? Math.sin(Math.PI * (syllable % 1)) ** 0.7 * (Math.floor(syllable) % 9 === 8 ? 0 : 1) : 0;
    const parts = Array.from({ length: 24 }, (_, index) => (index + 1) * pitch).map((hertz) =>
      vowel.reduce((sum, formant, number) => sum + Math.exp(-(((hertz - formant) / 130) ** 2)) / (number + 1), 0.02));
    for (let at = 0; at < FRAME; at++) {
      phase += (2 * Math.PI * pitch) / SAMPLE_HZ;
      const ramp = Math.min(1, at / 24, (FRAME - at) / 24);
      samples[frame * FRAME + at] = 0.2 * loud * (heard ? ramp : 0) * parts.reduce((sum, part, index) => sum + part * Math.sin((index + 1) * phase), 0);
    }
  });
  return samples;
}

let stop: (() => void) | undefined;
let heard: Run | undefined;

/** Plays the call on request, or stops it if it is playing; calls `changed` at start and end. */
export function listenTo(run: Run, group: number, changed: (on: boolean) => void): void {
  const again = stop && heard === run;
  stop?.();
  if (again) return;
  heard = run;
  const context = new AudioContext();
  const frames = played(run, group).slice(0, (HEARD_S * 1000) / CALL.intervalMs);
  const buffer = context.createBuffer(1, Math.max(1, frames.length * FRAME), SAMPLE_HZ);
  buffer.copyToChannel(voice(frames), 0);
  const source = new AudioBufferSourceNode(context, { buffer });
  const ended = () => {
    if (stop === ended) stop = undefined;
    source.onended = null;
    void context.close();
    changed(false);
  };
  source.onended = stop = ended;
  source.connect(context.destination);
  source.start();
  changed(true);
}

/** Stops the sound. */
export function silence(): void {
  stop?.();
}
