import { beforeEach, describe, expect, it } from 'vitest';
import { ReduceOp } from '../collectives/reduce-op.js';
import { tensor } from '../values/tensor.js';
import { RecentReduces } from './recent-reduces.js';
import { type ReplicaCall, type ReplicaCallOptions, type ReplicaValue, reduceCall } from './replica-call.js';

let recent: RecentReduces<string>;
beforeEach(() => {
  recent = new RecentReduces();
});

const arraysOf = (count: number, length = 4) => Array.from({ length: count }, () => new Float32Array(length));

function add(array: Float32Array): ReplicaCall {
  const call = reduceCall(ReduceOp.SUM, array, { into: array }, '');
  recent.add(ReduceOp.SUM, array, { into: array }, { index: 0, call });
  return call;
}

const found = (array: Float32Array) => recent.find(ReduceOp.SUM, array, { into: array })?.made.call;

it('finds the latest four reduces of small arrays, in any order', () => {
  const arrays = arraysOf(5);
  const calls = arrays.map(add);
  for (const index of [4, 2, 3, 1, 1, 4]) expect(found(arrays[index] as Float32Array)).toBe(calls[index]);
  expect(found(arrays[0] as Float32Array)).toBeUndefined();
});

it('remembers only the latest reduce of large arrays', () => {
  const [small, large, larger] = [...arraysOf(1), ...arraysOf(2, 2 ** 14)] as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  add(small);
  const call = add(large);
  expect([found(small), found(large)]).toEqual([undefined, call]);
  add(larger);
  expect(found(large)).toBeUndefined();
});

it('forgets large arrays, but not small ones, at a reduce of unknown arrays', () => {
  const [small, large] = [...arraysOf(1), ...arraysOf(1, 2 ** 14)] as [Float32Array, Float32Array];
  const addUnknown = () => {
    const call = reduceCall(ReduceOp.SUM, 1, undefined, '');
    recent.add(ReduceOp.SUM, 1, undefined, { index: 0, call });
    return call;
  };
  const call = add(small);
  expect(recent.of(addUnknown())).toBeUndefined();
  expect(found(small)).toBe(call);
  add(large);
  addUnknown();
  expect(found(large)).toBeUndefined();
});

it('keeps the work of a reduce until the reduce is forgotten', () => {
  const [first, ...others] = arraysOf(5) as [Float32Array, ...Float32Array[]];
  const call = add(first);
  const reduce = recent.of(call);
  if (reduce) reduce.work = 'prepared';
  for (const other of others.slice(1)) add(other);
  expect(recent.of(call)?.work).toBe('prepared');
  expect(recent.find(ReduceOp.SUM, first, { into: first })?.work).toBe('prepared');
  add(others[0] as Float32Array);
  expect(recent.of(call)).toBeUndefined();
});

describe('a recent reduce', () => {
  const floats = (length = 2) => new Float32Array(length);
  type Arguments = readonly [op: ReduceOp, value: ReplicaValue, options?: ReplicaCallOptions];

  function remember(...[op, value, options]: Arguments): void {
    recent.add(op, value, options, { index: 0, call: reduceCall(op, value, options, '') });
  }
  const isFound = (...[op, value, options]: Arguments) => recent.find(op, value, options) !== undefined;

  it('is found for the same arrays, alone or in a list that is made anew for each call', () => {
    const [input, output] = [floats(), floats()];
    remember('SUM', input, { into: output });
    expect(isFound('SUM', input, { into: output })).toBe(true);
    remember('SUM', [input, output], { into: [input, output] });
    expect(isFound('SUM', [input, output], { into: [input, output] })).toBe(true);
  });

  it('is not found for another op, array, order or structure', () => {
    const [input, output] = [floats(), floats()];
    remember('SUM', [input, output], { into: [input, output] });
    const others: readonly Arguments[] = [
      ['MEAN', [input, output], { into: [input, output] }],
      ['SUM', [output, input], { into: [input, output] }],
      ['SUM', [input, output], { into: [input, floats()] }],
      ['SUM', [input], { into: [input] }],
      ['SUM', input, { into: input }],
      ['SUM', [input, output], {}],
      ['SUM', [input, output]],
    ];
    for (const other of others) expect(isFound(...other)).toBe(false);
    remember('SUM', input, { into: input });
    expect(isFound('SUM', [input], { into: [input] })).toBe(false);
  });

  it('is not found for a list that the program has changed since', () => {
    const list = [floats(), floats()];
    remember('SUM', list, { into: list });
    list[1] = floats();
    expect(isFound('SUM', list, { into: list })).toBe(false);
  });

  it('is not found for a buffer that was detached or resized since', () => {
    const detached = floats();
    const resized = new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 }));
    const arrays = [detached, resized];
    for (const array of arrays) remember('SUM', array, { into: array });
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    resized.buffer.resize(16);
    expect(arrays.map((array) => isFound('SUM', array, { into: array }))).toEqual([false, false]);
  });

  it('is not kept for other options, without `into`, or for anything but arrays with elements', () => {
    const array = floats();
    remember('SUM', array, { into: array });
    expect(isFound('SUM', array, { into: array, timeoutSeconds: 1 })).toBe(false);
    const other = floats();
    for (const options of [{ into: other, timeoutSeconds: 1 }, undefined, {}]) {
      remember('SUM', other, options);
      expect(isFound('SUM', other, options)).toBe(false);
    }
    const clamped = new Uint8ClampedArray(2) as never;
    for (const value of [tensor([1]), { w: other }, [other, tensor([1])], floats(0), clamped]) {
      remember('SUM', value, { into: value });
      expect(isFound('SUM', value, { into: value })).toBe(false);
    }
  });
});
