/** Computes a 53-bit hash of a text, which a float64 represents exactly. */
export function hashOf(text: string): number {
  return hashOfNumbers(text.length, (at) => text.charCodeAt(at));
}

/** Computes a 53-bit hash of the bits of an array. */
export function hashOfBits({ buffer, byteOffset, byteLength }: ArrayBufferView): number {
  const isWords = byteOffset % 4 === 0 && byteLength % 4 === 0;
  const bits = isWords
    ? new Int32Array(buffer, byteOffset, byteLength / 4)
    : new Uint8Array(buffer, byteOffset, byteLength);
  return hashOfNumbers(bits.length, (at) => bits[at] as number);
}

function hashOfNumbers(count: number, numberAt: (at: number) => number): number {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < count; at++) {
    const number = numberAt(at);
    // A product keeps the lowest bits of its factors apart from the highest ones, which alone differ between
    // small whole numbers as float32; so the shift brings these down before the next product.
    low = Math.imul(low ^ number, 2654435761);
    low ^= low >>> 15;
    high = Math.imul(high ^ number, 1597334677);
    high ^= high >>> 13;
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return 2 ** 32 * (high & 0x1fffff) + (low >>> 0);
}
