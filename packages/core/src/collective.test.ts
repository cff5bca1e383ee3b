import { expect, it } from 'vitest';
import {
  type Collective,
  collectiveKinds,
  nameOf,
  opOf,
  outputDType,
  outputLength,
  rootOf,
  variantOf,
} from './collective.js';

const collectives: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce', op: 'max', root: 2 },
  { kind: 'broadcast', root: 1 },
  { kind: 'all-gather' },
  { kind: 'reduce-scatter', op: 'mean' },
];

it('lists every kind once', () => {
  expect(collectives.map(({ kind }) => kind)).toEqual(collectiveKinds);
});

it('knows ops and roots, where there are any', () => {
  expect(collectives.map(opOf)).toEqual(['sum', 'max', undefined, undefined, 'mean']);
  expect(collectives.map(rootOf)).toEqual([undefined, 2, 1, undefined, undefined]);
});

it('names each for messages', () => {
  expect(collectives.map(nameOf)).toEqual([
    'all-reduce sum',
    'reduce max to rank 2',
    'broadcast from rank 1',
    'all-gather',
    'reduce-scatter mean',
  ]);
});

it('tells the schedules of an algorithm with several apart', () => {
  expect(nameOf({ kind: 'all-reduce', op: 'sum', variant: 0 })).toBe('all-reduce sum');
  expect(nameOf({ kind: 'all-reduce', op: 'sum', variant: 3 })).toBe('all-reduce sum (variant 3)');
  expect([...collectives, { kind: 'all-reduce', op: 'sum', variant: 3 } as const].map(variantOf)).toEqual([
    0, 0, 0, 0, 0, 3,
  ]);
});

it('multiplies the length for all-gather and divides it for reduce-scatter', () => {
  expect(collectives.map((collective) => outputLength(collective, 12, 3))).toEqual([12, 12, 12, 36, 4]);
});

it('changes the dtype for means of integers only', () => {
  expect(collectives.map((collective) => outputDType(collective, 'int32'))).toEqual([
    'int32',
    'int32',
    'int32',
    'int32',
    'float64',
  ]);
  expect(outputDType({ kind: 'all-reduce', op: 'mean' }, 'int16')).toBe('float32');
  expect(outputDType({ kind: 'all-reduce', op: 'mean' }, 'bfloat16')).toBe('bfloat16');
});
