import { expect, it } from 'vitest';
import { dtypes, isFloating, isHalf, quotientOf } from '../values/dtype.js';
import {
  accumulatorOf,
  bufferLengths,
  type Collective,
  collectiveKinds,
  collectiveOps,
  hasOneResult,
  nameOf,
  opOf,
  outputDType,
  outputLength,
  reads,
  rootOf,
  variantOf,
  writes,
} from './collective.js';

const collectives: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce', op: 'max', root: 2 },
  { kind: 'broadcast', root: 1 },
  { kind: 'all-gather' },
  { kind: 'reduce-scatter', op: 'mean' },
  { kind: 'gather', root: 0 },
  { kind: 'scatter', root: 2 },
  { kind: 'all-to-all' },
];

it('collectiveKinds lists every kind once', () => {
  expect(collectives.map(({ kind }) => kind)).toEqual(collectiveKinds);
});

it('opOf and rootOf return the op and the root of collectives that have one', () => {
  expect(collectives.map(opOf)).toEqual(['sum', 'max', undefined, undefined, 'mean', undefined, undefined, undefined]);
  expect(collectives.map(rootOf)).toEqual([undefined, 2, 1, undefined, undefined, 0, 2, undefined]);
});

it('nameOf returns the name of each collective for error messages', () => {
  expect(collectives.map(nameOf)).toEqual([
    'all-reduce sum',
    'reduce max to rank 2',
    'broadcast from rank 1',
    'all-gather',
    'reduce-scatter mean',
    'gather to rank 0',
    'scatter from rank 2',
    'all-to-all',
  ]);
});

it('nameOf and variantOf distinguish the variants of an algorithm', () => {
  expect(nameOf({ kind: 'all-reduce', op: 'sum', variant: 0 })).toBe('all-reduce sum');
  expect(nameOf({ kind: 'all-reduce', op: 'sum', variant: 3 })).toBe('all-reduce sum (variant 3)');
  expect([...collectives, { kind: 'all-reduce', op: 'sum', variant: 3 } as const].map(variantOf)).toEqual([
    0, 0, 0, 0, 0, 0, 0, 0, 3,
  ]);
});

it('outputLength multiplies the input length by the ranks for gathers and divides it for scatters', () => {
  expect(collectives.map((collective) => outputLength(collective, 12, 3))).toEqual([12, 12, 12, 36, 4, 36, 4, 12]);
});

it("bufferLengths returns the lengths of each rank's buffers", () => {
  const lengths = (rank: number) =>
    collectives.map((collective) => {
      const { input, output } = bufferLengths(collective, 4, 3, rank);
      return `${input} ${output}`;
    });
  expect(lengths(0)).toEqual(['4 4', '4 4', '4 4', '4 12', '12 4', '4 12', '0 4', '12 12']);
  expect(lengths(2)).toEqual(['4 4', '4 4', '4 4', '4 12', '12 4', '4 0', '12 4', '12 12']);
});

it('reads and writes return whether a rank has an input and an output', () => {
  const ranksThat = (does: (collective: Collective, rank: number) => boolean) =>
    collectives.map((collective) => [0, 1, 2].filter((rank) => does(collective, rank)).join(''));
  expect(ranksThat(reads)).toEqual(['012', '012', '1', '012', '012', '012', '2', '012']);
  expect(ranksThat(writes)).toEqual(['012', '2', '012', '012', '012', '0', '012', '012']);
});

it('hasOneResult is true for collectives with the same result on every rank', () => {
  const same = collectives.filter(hasOneResult).map(({ kind }) => kind);
  expect(same).toEqual(['all-reduce', 'broadcast', 'all-gather']);
});

it('accumulatorOf returns float32 for 16-bit floats, and the dtype of the result for all others', () => {
  for (const dtype of dtypes.filter((each) => each !== 'bool')) {
    const wide = isHalf(dtype) ? 'float32' : dtype;
    expect(collectiveOps.map((op) => accumulatorOf(dtype, op))).toEqual(
      collectiveOps.map((op) => (op === 'mean' && !isFloating(dtype) ? quotientOf(dtype) : wide)),
    );
  }
});

it('outputDType changes the dtype for means of integers only', () => {
  expect(collectives.map((collective) => outputDType(collective, 'int32'))).toEqual([
    'int32',
    'int32',
    'int32',
    'int32',
    'float64',
    'int32',
    'int32',
    'int32',
  ]);
  expect(outputDType({ kind: 'all-reduce', op: 'mean' }, 'int16')).toBe('float32');
  expect(outputDType({ kind: 'all-reduce', op: 'mean' }, 'bfloat16')).toBe('bfloat16');
});
