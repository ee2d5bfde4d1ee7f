// Quality for the user: sound of a call, picture of a video. The numbers are the engine's (`voip`, `video` of a record).

import { h, svg } from "../dom";
import { percent, rate } from "../numbers";
import type { Run } from "../run";
import { listenTo } from "../sound";
import type { Group } from "../state";

/** Categories of ITU-T P.800 for opinion scores. */
const WORDS: [number, string][] = [[4.3, "excellent"], [3.6, "good"], [2.6, "fair"], [1.6, "poor"], [0, "bad"]];
/** Bitrate at which the drawn picture is sharp; below it, the squares are larger. */
const SHARP_BPS = 4e6;
const PICTURE = { width: 64, height: 36 };

/** Draws as many people as there are users, up to five. */
export function crowd({ users }: Group): SVGElement {
  const drawn = Math.min(5, users);
  const width = 20 + 8 * (drawn - 1);
  const people = Array.from({ length: drawn }, (_, index) =>
    svg("path", { d: "M10 2a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm-8 22c0-7 3-11 8-11s8 4 8 11Z", transform: `translate(${8 * (drawn - 1 - index)})` }));
  return svg("svg", { class: "crowd", viewBox: `0 0 ${width} 26`, "aria-hidden": "true" }, ...people);
}

/** Picture, rating and, for a call, a button to listen to it; nothing for other users. */
export function quality(run: Run, index: number): Element[] {
  const { name, voip, video } = run.record.groups[index]!;
  if (voip) {
    const mos = voip.mos ?? 1;
    const word = WORDS.find(([least]) => mos >= least)![1];
    const button = h("button", { type: "button", class: "listen", "aria-pressed": "false", "aria-label": `Listen to ${name} under ${run.scheme}`, title: "Listen",
      click: () => listenTo(run, index, (on) => button.setAttribute("aria-pressed", String(on))) }, speaker());
    return [face(mos), h("span", { class: "words", title: "Mean opinion score of the E-model, 1 to 4.5" }, h("b", {}, word), h("small", {}, `MOS ${mos.toFixed(1)}`)), button];
  }
  if (!video) return [];
  const { bitrate_bps: bps, stalled_share: stalled } = video;
  if (bps === null) return [screen(0, 1), h("span", { class: "words" }, h("b", {}, "no picture"))];
  const stands = (stalled ?? 1) > 0.005;
  return [screen(bps, stalled ?? 1), h("span", { class: "words" }, h("b", {}, rate(bps)), h("small", {}, stands ? `stalls ${percent(stalled ?? 1)}` : "smooth"))];
}

function speaker(): SVGElement {
  return svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, svg("path", { d: "M2 6h3l4-4v12l-4-4H2Zm9-1a4 4 0 0 1 0 6M12.5 3a7 7 0 0 1 0 10" }));
}

/** Draws a face that smiles less with lower scores. */
function face(mos: number): SVGElement {
  const mood = ((mos - 1) / 3.4 - 0.5) * 11;
  return svg("svg", { class: "face", viewBox: "0 0 32 32", width: 30, height: 30, "aria-hidden": "true" },
    svg("circle", { cx: 16, cy: 16, r: 14 }),
    svg("circle", { class: "eye", cx: 11, cy: 13, r: 1.8 }), svg("circle", { class: "eye", cx: 21, cy: 13, r: 1.8 }),
    svg("path", { d: `M9.5 ${(21 - mood / 3).toFixed(1)}Q16 ${(21 + mood).toFixed(1)} 22.5 ${(21 - mood / 3).toFixed(1)}` }));
}

/** Draws a landscape, with larger squares for lower bitrates, and grey for the share of stalled time. */
function screen(bps: number, stalled: number): HTMLElement {
  const canvas = h("canvas", { class: "screen", "aria-hidden": "true" });
  const part = Math.min(1, Math.max(0.12, Math.sqrt(bps / SHARP_BPS)));
  [canvas.width, canvas.height] = [Math.round(PICTURE.width * 2 * part), Math.round(PICTURE.height * 2 * part)];
  const context = canvas.getContext("2d")!;
  context.scale(canvas.width / PICTURE.width, canvas.height / PICTURE.height);
  const fill = (colour: string, path: string) => {
    context.fillStyle = colour;
    context.fill(new Path2D(path));
  };
  fill(bps ? "#8ec9f0" : "#222", "M0 0H64V36H0Z");
  if (bps) {
    fill("#fff3c4", "M50 4a5 5 0 1 1 0 10 5 5 0 0 1 0-10Z");
    fill("#6b7f99", "M0 30 16 9 27 24 36 14 54 32 0 36Z");
    fill("#ffffff", "M16 9 20 15 16 14 12 15Z");
    fill("#3f8f4f", "M0 28Q20 20 36 28T64 26V36H0Z");
  }
  const element = h("span", { class: "tv" }, canvas);
  if (stalled > 0.005) element.append(svg("svg", { viewBox: "0 0 36 36", "aria-hidden": "true" }, svg("circle", { cx: 18, cy: 18, r: 9, "stroke-dasharray": `${56.5 * (1 - stalled)} 57` })));
  return element;
}
