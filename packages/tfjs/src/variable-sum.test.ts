import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { combined, stepsBetweenFingerprints } from '@coll/strategy/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { sumOf } from './variable-sum.js';

describe.each(['cpu', 'wasm'])('the fingerprint of variables on the %s backend', (backend) => {
  beforeAll(async () => {
    tf.enableProdMode();
    await tf.setBackend(backend);
  });

  const printOf = (...values: readonly (readonly number[])[]) =>
    combined(values.map((list) => sumOf(tf, tf.variable(tf.tensor1d([...list]))) as number));

  it('is that of the same values', () => {
    expect(printOf([1, 2, 3, 4, 5], [6])).toBe(printOf([1, 2, 3, 4, 5], [6]));
  });

  it.each([
    ['the last bit of an element', [[1, 2, 3, 4, 5.0000005], [6]]],
    ['the order of elements', [[2, 1, 3, 4, 5], [6]]],
    ['the order of variables', [[6], [1, 2, 3, 4, 5]]],
    ['a NaN', [[1, 2, Number.NaN, 4, 5], [6]]],
  ])('changes with %s', (_, values) => {
    expect(printOf(...values)).not.toBe(printOf([1, 2, 3, 4, 5], [6]));
  });

  it('does not depend on the bits of NaN', () => {
    const [one, other] = [0x7fc00000, 0xffc00001].map((bits) => {
      const array = new Float32Array(Uint32Array.of(bits, 0).buffer);
      return combined([sumOf(tf, tf.variable(tf.tensor1d(array))) as number]);
    });
    expect(other).toBe(one);
  });

  it('does not include variables of other dtypes', () => {
    expect(sumOf(tf, tf.variable(tf.tensor1d([1, 2], 'int32'), false))).toBeUndefined();
  });

  it('is taken less often of more weights', () => {
    const every = (size: number) => stepsBetweenFingerprints(size);
    expect([1, 16_384, 16_385, 1_000_000].map(every)).toEqual([1, 1, 2, 62]);
  });
});
