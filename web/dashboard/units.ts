// Numbers as people read them; `drover status` has the same (cli/src/shown.rs).

const one = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));

export function bytes(n: number): string {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]] as const) {
    if (n >= size) return `${one(n / size)} ${unit}`;
  }
  return `${n.toFixed(0)} B`;
}

export function time(seconds: number): string {
  if (seconds < 0.00095) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.95) return `${(seconds * 1e3).toFixed(0)} ms`;
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]] as const) {
    if (seconds >= size) return `${one(seconds / size)} ${unit}`;
  }
  return `${seconds.toFixed(1)} s`;
}

export const rate = (n: number): string => (n < 100 ? n.toFixed(1) : Math.round(n).toLocaleString("en"));

export const count = (n: number): string => n.toLocaleString("en");
