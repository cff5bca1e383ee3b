import { type MaxOverReaders, Readers } from '../src/data/readers.js';

/** Readers that meet in this thread: each meeting waits for all of them. */
export function readersHere(count: number): { readonly readers: Readers[]; meetings(): number } {
  let waiting: { readonly numbers: Float64Array | Uint8Array; resolve(all: Float64Array | Uint8Array): void }[] = [];
  let meetings = 0;
  const max: MaxOverReaders = (numbers) =>
    new Promise((resolve) => {
      waiting.push({ numbers, resolve });
      if (waiting.length < count) return;
      const all = numbers.map((_, at) => Math.max(...waiting.map((reader) => reader.numbers[at] as number)));
      for (const reader of waiting) reader.resolve(all);
      waiting = [];
      meetings += 1;
    });
  return {
    readers: Array.from({ length: count }, () => new Readers({ what: 'worker', max })),
    meetings: () => meetings,
  };
}
