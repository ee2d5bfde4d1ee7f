// Formats numbers for people.

/** Three significant digits, without an exponent. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size === 0 ? 2 : 3;
  return value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

export function rate(bps: number): string {
  if (bps >= 1e6) return `${short(bps / 1e6)} Mbit/s`;
  return bps >= 1e3 ? `${short(bps / 1e3)} kbit/s` : `${short(bps)} bit/s`;
}

export function ms(seconds: number): string {
  return `${short(seconds * 1000)} ms`;
}

export function percent(share: number): string {
  return `${short(share * 100)} %`;
}

/** Short form of a label, with abbreviated thousands and millions. */
export function label(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${short(value / 1e6)}M`;
  if (size >= 1e4) return `${short(value / 1e3)}k`;
  return size >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** A reading of a scheme; its name ends with the unit. */
export function reading(name: string, value: number): string {
  const words = (unit: string) => name.slice(0, name.length - unit.length).replaceAll("_", " ");
  if (name.endsWith("_bps")) return `${words("_bps")} ${rate(value)}`;
  if (name.endsWith("_s")) return `${words("_s")} ${ms(value)}`;
  if (name.endsWith("probability")) return `${words("")} ${percent(value)}`;
  return `${words("")} ${label(value)}`;
}

/** Quantile of ascending numbers. */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  return ascending.length ? ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))]! : NaN;
}
