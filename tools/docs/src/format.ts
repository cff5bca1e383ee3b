/** Three significant digits, never an exponent. */
function threeDigits(value: number): string {
  if (value === 0) return '0';
  const digits = 2 - Math.floor(Math.log10(Math.abs(value)));
  return Number(value.toPrecision(3)).toFixed(Math.max(0, Math.min(digits, 6)));
}

/** Formats seconds in the unit that reads best. */
export function formatSeconds(seconds: number): string {
  if (seconds < 1e-3) return `${threeDigits(seconds * 1e6)} µs`;
  return seconds < 1 ? `${threeDigits(seconds * 1e3)} ms` : `${threeDigits(seconds)} s`;
}

/** Formats bytes in the largest unit that gives a whole number. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = bytes === 0 ? 0 : units.findLastIndex((_, index) => bytes % 1024 ** index === 0);
  return `${bytes / 1024 ** power} ${units[power]}`;
}

/** Formats a number with commas between thousands. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** A number with its noun, such as `1 round` or `2 rounds`. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
