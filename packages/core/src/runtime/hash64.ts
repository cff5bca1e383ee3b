import type { Tensor } from '../values/tensor.js';
import type { Segments } from './communicator.js';

/** A 64-bit hash of the bytes of a buffer, as two words of 32 bits. It finds damage, not attacks. */
export function hash64(segments: Segments): readonly [number, number] {
  const hash: [number, number] = [0x2545f491, 0x1b873593];
  const tensors: readonly Tensor[] = Array.isArray(segments) ? segments : [segments as Tensor];
  for (const { data } of tensors) addBytes(hash, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return hash;
}

function addBytes(hash: [number, number], bytes: Uint8Array): void {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const whole = aligned.length >> 2;
  addWords(hash, new Int32Array(aligned.buffer, aligned.byteOffset, whole));
  if (whole * 4 < aligned.length) addWords(hash, Int32Array.from(aligned.subarray(whole * 4)));
}

/**
 * Two hashes of 32 bits with different multipliers and rotations. Each step is a bijection of the
 * hash, so that a single changed word always changes both; the rotations carry high bits down.
 */
function addWords(hash: [number, number], words: Int32Array): void {
  let [a, b] = hash;
  // A loop by index, because an iterator takes several times as long.
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as number;
    a = Math.imul(a ^ word, 0x9e3779b1);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ word, 0x85ebca77);
    b = (b << 17) | (b >>> 15);
  }
  hash[0] = a;
  hash[1] = b;
}
