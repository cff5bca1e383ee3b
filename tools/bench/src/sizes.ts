import { UsageError } from './usage-error.js';

const units = ['B', 'KiB', 'MiB', 'GiB'] as const;

/** Bytes of one element: all benchmarks use float32. */
export const bytesPerElement = 4;

/** Parses a size such as `4`, `64KiB` or `1.5 MiB`, which must be a multiple of 4 bytes. @throws UsageError */
export function parseBytes(text: string): number {
  const [, amount, unit = 'B'] = /^(\d+(?:\.\d+)?) ?([KMG]iB|B)?$/i.exec(text.trim()) ?? [];
  const power = units.findIndex((known) => known.toLowerCase() === unit.toLowerCase());
  const bytes = Number(amount) * 1024 ** power;
  if (Number.isSafeInteger(bytes) && bytes > 0 && bytes % bytesPerElement === 0) return bytes;
  throw new UsageError(`"${text}" is no size: write 4, 64KiB or 1MiB, a multiple of ${bytesPerElement} bytes`);
}

/** Formats bytes in the largest unit that gives a number of at least 1, with at most one decimal. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  const amount = bytes / 1024 ** power;
  return `${Number(amount.toFixed(1))} ${units[power]}`;
}

/** Sizes from the first to the last, each `factor` times the one before. */
export function geometricSizes(first: number, last: number, factor: number): number[] {
  const count = Math.floor(Math.log(last / first) / Math.log(factor) + 1e-9) + 1;
  return Array.from({ length: count }, (_, power) => first * factor ** power);
}
