import { beforeEach, expect, it } from 'vitest';
import { ReduceOp } from '../collectives/reduce-op.js';
import { RecentReduces } from './recent-reduces.js';
import { type ReplicaCall, reduceCall } from './replica-call.js';

let recent: RecentReduces<string>;
beforeEach(() => {
  recent = new RecentReduces();
});

const arraysOf = (count: number, length = 4) => Array.from({ length: count }, () => new Float32Array(length));

function add(array: Float32Array): ReplicaCall {
  const call = reduceCall(ReduceOp.SUM, array, { into: array }, '');
  recent.add(ReduceOp.SUM, array, { into: array }, { place: 0, call });
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
    recent.add(ReduceOp.SUM, 1, undefined, { place: 0, call });
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
