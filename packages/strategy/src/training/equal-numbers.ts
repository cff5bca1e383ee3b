// Gradients are averaged, and a mean alone does not show whether the numbers behind it were equal:
// 0 and 2 have the same mean as 1 and 1. The mean of the squares does, so all replicas find the
// same answer in the same means. Digits of four bits keep both means exact to within the tolerance
// for any number of replicas that fits a float32.
const digitBits = 4;

/** The number of values that `writeEqual` writes for a number of `bits` bits. */
export function equalWidth(bits: number): number {
  return (bits / digitBits) * 2;
}

/** Writes the lowest `bits` bits of a whole number as digits and their squares. */
export function writeEqual(values: Float32Array, at: number, number: number, bits: number): void {
  for (let shift = 0, index = at; shift < bits; shift += digitBits, index += 2) {
    const digit = Math.floor(number / 2 ** shift) % 2 ** digitBits;
    values[index] = digit;
    values[index + 1] = digit * digit;
  }
}

/** Whether the numbers whose means these are were equal on all replicas. */
export function wereEqual(means: Float32Array, at: number, bits: number, replicas: number): boolean {
  // If one of n replicas has another digit, the variance is at least (n - 1) / n².
  const tolerance = 1 / (4 * replicas);
  for (let index = at; index < at + equalWidth(bits); index += 2) {
    const [mean, square] = [means[index] as number, means[index + 1] as number];
    if (!(Math.abs(square - mean * mean) < tolerance)) return false;
  }
  return true;
}
