/** Numbers from 0 up to 1 that a seed decides (mulberry32). */
export type Random = () => number;

/** The same numbers for the same seeds, and unrelated ones for any other. */
export function randomFrom(...seeds: readonly number[]): Random {
  let state = seeds.reduce((hash, seed) => scramble(hash ^ seed), 0x9e3779b9);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    return scramble(state) / 2 ** 32;
  };
}

/** Roughly normal, with this standard deviation: the sum of three uniform numbers. */
export function spread(random: Random, deviation: number): number {
  return 2 * deviation * (random() + random() + random() - 1.5);
}

export function between(random: Random, low: number, high: number): number {
  return low + (high - low) * random();
}

function scramble(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 15), value | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}
