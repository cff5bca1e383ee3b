import { describe, expect, it } from 'vitest';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { tensor } from '../values/tensor.js';
import { isKnownCall, knownCall } from './known-call.js';
import type { ReplicaCallOptions, ReplicaValue } from './replica-call.js';

const floats = (length = 2) => new Float32Array(length);

describe('knownCall', () => {
  it('recognizes the same arrays, alone or in a list that is made anew for each call', () => {
    const [input, output] = [floats(), floats(3)];
    const single = knownCall('SUM', input, { into: output });
    expect(single && isKnownCall(single, 'SUM', input, { into: output })).toBe(true);
    const list = knownCall('SUM', [input, output], { into: [output, input] });
    expect(list && isKnownCall(list, 'SUM', [input, output], { into: [output, input] })).toBe(true);
  });

  it('distinguishes calls by op, arrays, order and structure', () => {
    const [input, output] = [floats(), floats()];
    const known = knownCall('SUM', [input, output], { into: [input, output] });
    const others: readonly (readonly [ReduceOp, ReplicaValue, ReplicaCallOptions?])[] = [
      ['MEAN', [input, output], { into: [input, output] }],
      ['SUM', [output, input], { into: [input, output] }],
      ['SUM', [input, output], { into: [input, floats()] }],
      ['SUM', [input], { into: [input] }],
      ['SUM', input, { into: input }],
      ['SUM', [input, output], {}],
      ['SUM', [input, output]],
    ];
    for (const other of others) expect(known && isKnownCall(known, ...other)).toBe(false);
    const single = knownCall('SUM', input, { into: input });
    expect(single && isKnownCall(single, 'SUM', [input], { into: [input] })).toBe(false);
  });

  it('notices a list that the program has changed since', () => {
    const list = [floats(), floats()];
    const known = knownCall('SUM', list, { into: list });
    list[1] = floats();
    expect(known && isKnownCall(known, 'SUM', list, { into: list })).toBe(false);
  });

  it('notices a buffer that was detached or resized since', () => {
    const detached = floats();
    const resized = new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 }));
    const arrays = [detached, resized];
    const known = arrays.map((array) => knownCall('SUM', array, { into: array }));
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    resized.buffer.resize(16);
    const areKnown = arrays.map((array, index) => {
      const call = known[index];
      return call && isKnownCall(call, 'SUM', array, { into: array });
    });
    expect(areKnown).toEqual([false, false]);
  });

  it('knows no call with other options, without `into`, or on anything but arrays with elements', () => {
    const array = floats();
    const known = knownCall('SUM', array, { into: array });
    expect(known && isKnownCall(known, 'SUM', array, { into: array, timeoutSeconds: 1 })).toBe(false);
    expect(knownCall('SUM', array, { into: array, timeoutSeconds: 1 })).toBeUndefined();
    expect(knownCall('SUM', array, undefined)).toBeUndefined();
    expect(knownCall('SUM', array, {})).toBeUndefined();
    for (const value of [tensor([1]), { w: array }, [], [array, tensor([1])], floats(0), 3])
      expect(knownCall('SUM', value, { into: value })).toBeUndefined();
  });
});
