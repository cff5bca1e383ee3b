/** Seconds as text with a fitting unit: `12.3 µs`, `4.56 ms`, `2.5 s`. */
export function secondsText(seconds: number): string {
  if (seconds >= 1) return `${rounded(seconds)} s`;
  return seconds >= 1e-3 ? `${rounded(1e3 * seconds)} ms` : `${rounded(1e6 * seconds)} µs`;
}

/** Bytes as text with a decimal unit: `480 B`, `4.8 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [scaled, unit] = [bytes, 0];
  for (; scaled >= 1000 && unit < units.length - 1; unit++) scaled /= 1000;
  return `${rounded(scaled)} ${units[unit]}`;
}

/** A count with its noun: `1 collective`, `2 collectives`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A share from 0 to 1 in percent: `31 %`. */
export function shareText(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** Three significant digits, or all digits before the point. */
function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
