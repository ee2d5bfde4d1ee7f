// The common clock of all animations.

import { h } from "./dom";
import { short } from "./numbers";

/** Simulated time per real time. */
const SPEEDS: [number, string][] = [[0.002, "500 × slower"], [0.01, "100 × slower"], [0.05, "20 × slower"], [0.25, "4 × slower"], [1, "as it is"]];

export class Player {
  time = 0;
  playing = false;
  private end = 1;
  private speed = 0.01;
  private last = 0;
  private readonly button = h("button", { type: "button", class: "play", click: () => this.play(!this.playing) });
  private readonly slider = h("input", { id: "player-time", type: "range", min: 0, max: 1, step: 0.001, input: () => {
    this.play(false);
    this.seek(Number(this.slider.value));
  } });
  private readonly output = h("output", { for: "player-time" });

  constructor(place: HTMLElement, private readonly tick: (time: number, speed: number, playing: boolean) => void, nextDrop: () => void) {
    const options = SPEEDS.map(([speed, label]) => h("option", { value: speed, selected: speed === this.speed }, label));
    const speed = h("select", { id: "player-speed", change: () => (this.speed = Number(speed.value)) }, ...options);
    place.append(
      this.button,
      h("button", { type: "button", click: () => { this.play(false); nextDrop(); } }, "Next drop"),
      h("span", { class: "time" }, h("label", { for: "player-time" }, "Time"), this.slider, this.output),
      h("span", {}, h("label", { for: "player-speed" }, "Speed"), speed),
    );
    this.play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  /** Starts a run of another length; the clock jumps to `time`. */
  restart(end: number, time: number): void {
    this.end = end;
    this.slider.max = String(end);
    this.seek(time);
  }

  seek(time: number): void {
    this.time = Math.max(0, Math.min(this.end, time));
    this.show();
  }

  play(playing: boolean): void {
    this.button.textContent = playing ? "Pause" : "Play";
    if (playing && !this.playing) {
      this.last = performance.now();
      requestAnimationFrame(this.frame);
    }
    this.playing = playing;
  }

  private readonly frame = (now: number) => {
    if (!this.playing) return;
    this.time += (Math.min(100, Math.max(0, now - this.last)) / 1000) * this.speed;
    this.last = now;
    if (this.time >= this.end) this.time = 0;
    this.show();
    requestAnimationFrame(this.frame);
  };

  private show(): void {
    this.slider.value = String(this.time);
    const text = `${this.time.toFixed(this.speed < 0.05 ? 3 : 1)} s`;
    this.output.textContent = text;
    this.slider.setAttribute("aria-valuetext", `${short(this.time)} seconds`);
    this.tick(this.time, this.speed, this.playing);
  }
}
