/**
 * The numbers from 0 to `length - 1`, shuffled. The order depends only on the arguments.
 * Source: Fisher and Yates' shuffle, in the form of Durstenfeld (1964), with the generator splitmix32, which is
 * the mixing function of Steele, Lea and Flood (2014) for 32 bits.
 */
export function seededOrder(length: number, seed: number, epoch: number): Int32Array {
  const order = Int32Array.from({ length }, (_, index) => index);
  let state = Math.imul(seed | 0, 0x9e3779b9) ^ Math.imul(epoch + 1, 0x85ebca6b);
  const next = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  for (let last = length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1));
    const value = order[last] as number;
    order[last] = order[other] as number;
    order[other] = value;
  }
  return order;
}
