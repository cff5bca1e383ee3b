// What collectives give, element by element in plain JavaScript. Contributions are small whole numbers, which every dtype holds.
import { encodeNumber } from '@coll/core/internal';
import { byteSize, outputDType, viewOf } from '@coll/core/plugin';

// Prime, so that an element in the wrong place is a wrong element.
const period = 1009;

const combine = {
  sum: (a, b) => a + b,
  mean: (a, b) => a + b,
  product: (a, b) => a * b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

const contribution = (dtype, rank, index) => {
  const value = (((index % period) * 31 + rank * 17) % period) % 5;
  return dtype === 'bool' ? value % 2 : value + 1;
};

const patterns = new Map();

/** `length` elements of what a rank contributes, from element `begin` on. */
export function contributions(dtype, rank, begin, length) {
  const pattern = patternOf(`${dtype} ${rank}`, dtype, (index) => contribution(dtype, rank, index));
  return repeated(pattern, dtype, begin, length);
}

/** `length` elements of what the ranks' contributions are combined to. */
export function combined(dtype, op, ranks, begin, length) {
  const result = outputDType({ kind: 'all-reduce', op }, dtype);
  const all = (index) => {
    const values = Array.from({ length: ranks }, (_, rank) => contribution(dtype, rank, index));
    const value = values.reduce(combine[op]);
    return op === 'mean' ? value / ranks : value;
  };
  return repeated(patternOf(`${dtype} ${op} of ${ranks}`, result, all), result, begin, length);
}

function patternOf(key, dtype, valueAt) {
  const known = patterns.get(key);
  if (known) return known;
  const pattern = viewOf(dtype, new ArrayBuffer(period * byteSize(dtype)), 0, period);
  for (let index = 0; index < period; index++) pattern[index] = encodeNumber(valueAt(index), dtype);
  patterns.set(key, pattern);
  return pattern;
}

function repeated(pattern, dtype, begin, length) {
  const elements = viewOf(dtype, new ArrayBuffer(length * byteSize(dtype)), 0, length);
  let from = begin % period;
  for (let at = 0; at < length; from = 0) {
    const part = pattern.subarray(from, from + length - at);
    elements.set(part, at);
    at += part.length;
  }
  return elements;
}
