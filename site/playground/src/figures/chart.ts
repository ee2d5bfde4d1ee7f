// Line chart with the names at the ends of the lines.

import uPlot from "uplot";
import { h, themed } from "../dom";

export interface Line {
  name: string;
  colour: string;
  values: (number | null)[];
  /** Dashed lines are reference values. */
  dashed?: boolean;
  filled?: boolean;
}

export interface Plot {
  title: string;
  /** Text for screen readers. */
  told: string;
  x: number[];
  lines: Line[];
  xMost: number;
  yMost: number;
  xUnit: string;
  /** Quantity of the y-axis, if the title does not name it. */
  yUnit?: string;
  /** End of the unmeasured part at the left. */
  shadedUntil?: number;
  height?: number;
  /** Called with the x value of a click. */
  picked?: (x: number) => void;
}

export interface Chart {
  element: HTMLElement;
  /** Draws; the element must be in the page. */
  draw(plot: Plot): void;
  /** Moves the time line; undefined hides it. */
  mark(x: number | undefined): void;
}

const FONT = "12px system-ui, sans-serif";
/** Minimum distance of two names in pixels. */
const NAME_HEIGHT = 14;

export function chart(): Chart {
  const caption = h("figcaption");
  const space = h("div", { class: "plot", role: "img" });
  const cursor = h("div", { class: "time-line", hidden: true });
  const element = h("figure", {}, caption, space);
  let drawn: uPlot | undefined;
  const mark = (x: number | undefined) => {
    cursor.hidden = x === undefined || !drawn;
    if (x !== undefined && drawn) cursor.style.transform = `translateX(${drawn.valToPos(x, "x")}px)`;
  };
  const draw = (plot: Plot) => {
    caption.textContent = plot.title;
    space.setAttribute("aria-label", plot.told);
    const data = [plot.x, ...plot.lines.map((line) => line.values)] as uPlot.AlignedData;
    drawn?.destroy();
    drawn = new uPlot(options(plot, space.clientWidth || 300), data, space);
    drawn.over.append(cursor);
    const { over } = drawn;
    over.onclick = (event) => plot.picked?.(drawn!.posToVal(event.clientX - over.getBoundingClientRect().left, "x"));
  };
  return { element, draw, mark };
}

function options(plot: Plot, width: number): uPlot.Options {
  const ink = themed("ink-soft");
  const grid = { stroke: themed("rule"), width: 1 };
  const axis = { stroke: ink, font: FONT, ticks: { show: false }, grid };
  const series = plot.lines.map((line): uPlot.Series => ({
    label: line.name,
    stroke: line.colour,
    width: line.dashed ? 1 : 1.75,
    ...(line.dashed ? { dash: [4, 4] } : {}),
    ...(line.filled ? { fill: `${line.colour}22` } : {}),
    points: { show: false },
    spanGaps: true,
  }));
  return {
    width,
    height: plot.height ?? 150,
    padding: [8, endRoom(plot), 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [0, plot.xMost] }, y: { range: [0, plot.yMost] } },
    axes: [
      { ...axis, size: 26, gap: 3, space: 60, grid: { show: false }, values: (_: uPlot, marks: number[]) => withUnit(marks, plot.xUnit) },
      { ...axis, size: 34, gap: 4, space: 30, values: (_: uPlot, marks: number[]) => marks.map(String) },
    ],
    series: [{}, ...series],
    hooks: {
      drawClear: [(u: uPlot) => shade(u, plot.shadedUntil ?? 0)],
      draw: [(u: uPlot) => { nameLines(u, plot); nameAxis(u, plot.yUnit ?? ""); }],
    },
  };
}

/** Tick labels of an axis; the last one has the unit. */
function withUnit(marks: number[], unit: string): string[] {
  return marks.map((mark, index) => (index === marks.length - 1 ? `${mark} ${unit}` : String(mark)));
}

/** Width of the names at the right. */
function endRoom(plot: Plot): number {
  const longest = Math.max(0, ...plot.lines.map((line) => line.name.length));
  return longest ? Math.min(130, 26 + longest * 6.6) : 12;
}

function shade(u: uPlot, until: number): void {
  if (until <= 0) return;
  u.ctx.fillStyle = themed("shade");
  u.ctx.fillRect(u.bbox.left, u.bbox.top, u.valToPos(until, "x", true) - u.bbox.left, u.bbox.height);
}

/** Draws the names of lines next to their ends, without overlap. */
function nameLines(u: uPlot, plot: Plot): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const last = (values: (number | null)[]) => {
    const tail = values.slice(-Math.max(1, Math.round(values.length / 10))).filter((value): value is number => value !== null);
    return tail.reduce((sum, value) => sum + value, 0) / (tail.length || 1);
  };
  const named = plot.lines.filter((line) => line.name && line.values.some((value) => value !== null));
  const places = named.map((line) => ({ line, y: u.valToPos(Math.min(last(line.values), plot.yMost), "y", true) }));
  places.sort((a, b) => a.y - b.y);
  const gap = NAME_HEIGHT * ratio;
  const lowest = bbox.top + bbox.height - 2 * ratio;
  for (let i = 1; i < places.length; i++) places[i]!.y = Math.max(places[i]!.y, places[i - 1]!.y + gap);
  for (let i = places.length - 1, limit = lowest; i >= 0; i--, limit -= gap) places[i]!.y = Math.min(places[i]!.y, limit);
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const x = bbox.left + bbox.width + 6 * ratio;
  for (const { line, y } of places) {
    ctx.fillStyle = line.dashed ? themed("ink-soft") : line.colour;
    ctx.fillRect(x, y - 1.5 * ratio, 7 * ratio, 3 * ratio);
    ctx.fillStyle = themed("ink");
    ctx.fillText(line.name, x + 11 * ratio, y);
  }
  ctx.restore();
}

function nameAxis(u: uPlot, unit: string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillStyle = themed("ink-soft");
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.fillText(unit, bbox.left + 4 * devicePixelRatio, bbox.top);
  ctx.restore();
}
