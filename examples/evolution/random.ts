/** Adds random numbers to all elements: the same ones for the same seed. Their standard deviation is `spread`. */
export function addNoise(values: Float64Array, spread: number, seed: number): void {
  const random = generatorOf(seed);
  // The sum of three uniform numbers has a standard deviation of 1/2, and nearly a normal distribution.
  for (let index = 0; index < values.length; index++)
    values[index] = (values[index] as number) + 2 * spread * (random() + random() + random() - 1.5);
}

/** Uniform numbers from 0 to 1, by the generator splitmix32. */
function generatorOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
