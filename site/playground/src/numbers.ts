// Numbers as people read them.

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

/** A label as it fits on a packet: thousands and millions are cut short. */
export function label(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${short(value / 1e6)}M`;
  if (size >= 1e4) return `${short(value / 1e3)}k`;
  return size >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** What a scheme measures, whose name ends with its unit. */
export function reading(name: string, value: number): string {
  const words = (unit: string) => name.slice(0, name.length - unit.length).replaceAll("_", " ");
  if (name.endsWith("_bps")) return `${words("_bps")} ${rate(value)}`;
  if (name.endsWith("_s")) return `${words("_s")} ${ms(value)}`;
  if (name.endsWith("probability")) return `${words("")} ${percent(value)}`;
  return `${words("")} ${label(value)}`;
}

/** The value below which a share of ascending numbers lies. */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  return ascending.length ? ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))]! : NaN;
}
