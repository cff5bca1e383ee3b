/** Weights for whose fingerprint one step pays on average. */
const weightsPerStep = 16_384;

/** A fingerprint of so many weights is compared every so many steps. */
export function stepsBetweenFingerprints(weights: number): number {
  return Math.max(1, Math.ceil(weights / weightsPerStep));
}

/** A sum of elements, in an order that is the same on all replicas. */
export function weightedSum(values: Float32Array): number {
  // Four sums do not wait for each other, which is several times as fast as one. Their factors
  // detect elements that changed places.
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = values.length - (values.length % 4);
  for (let at = 0; at < whole; at += 4) {
    a += values[at] as number;
    b += values[at + 1] as number;
    c += values[at + 2] as number;
    d += values[at + 3] as number;
  }
  for (let at = whole; at < values.length; at++) a += values[at] as number;
  return a + 3 * b + 5 * c + 7 * d;
}

const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);

/** Combines sums to a number of 32 bits. */
export function combined(sums: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const sum of sums) {
    // The bits of NaN may differ between replicas that have computed the same.
    float[0] = Number.isNaN(sum) ? Number.POSITIVE_INFINITY : sum;
    hash = Math.imul(hash ^ (words[0] as number), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15) ^ (words[1] as number), 0x85ebca6b);
  }
  return (hash ^ (hash >>> 13)) >>> 0;
}
