import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { slice } from '../values/concatenate.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { checkedCall } from './segment-list.js';

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const broadcast: Collective = { kind: 'broadcast', root: 1 };
const reduce: Collective = { kind: 'reduce', op: 'sum', root: 1 };
const allGather: Collective = { kind: 'all-gather' };

const floats = (...lengths: readonly number[]): Tensor[] => lengths.map((length) => zeros('float32', [length]));

function check(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[], options = {}, rank = 0) {
  return checkedCall({ collective, size: 2, localRanks: [rank], inputs: [inputs], outputs: [outputs] }, options);
}

function expectRefused(action: () => unknown, message: string): void {
  expect(thrown(action)).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_BUFFER',
    message: expect.stringContaining(message),
  });
}

describe('checkedCall', () => {
  it('computes the offset of each segment, the total length and the dtype', () => {
    const call = check(allReduce, floats(2, 3), floats(2, 3));
    expect([...call.begins]).toEqual([0, 2, 5]);
    expect([call.length, call.dtype, call.isShared]).toEqual([5, 'float32', false]);
  });

  it('counts the elements of all ranks for an all-gather', () => {
    const call = check(allGather, floats(3), floats(6));
    expect([[...call.begins], call.length]).toEqual([[0, 6], 6]);
  });

  it('takes the length of a broadcast from the output if the root is not a local rank', () => {
    expect(check(broadcast, floats(1), floats(4)).length).toBe(4);
    expect(check(broadcast, floats(4), floats(4), {}, 1).length).toBe(4);
  });

  it('keeps the layout of one segment, and hashes layout and boundaries of several segments', () => {
    const layoutOf = (layout: number, ...lengths: number[]) =>
      check(allReduce, floats(...lengths), floats(...lengths), { layout }).layout;
    expect(layoutOf(7, 5)).toBe(7);
    expect(check(allReduce, floats(1), floats(1)).layout).toBe(0);
    expect(layoutOf(7, 2, 3)).toBe(layoutOf(7, 2, 3));
    expect(new Set([layoutOf(7, 2, 3), layoutOf(7, 3, 2), layoutOf(8, 2, 3)]).size).toBe(3);
  });

  it.each([0.5, Number.NaN, 'x'])('refuses %s as a layout', (layout) => {
    expect(thrown(() => check(allReduce, floats(1), floats(1), { layout }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/^layout must be a whole number/),
    });
  });

  it('allows one memory for all results only if all ranks get the same result', () => {
    const isShared = (collective: Collective) =>
      check(collective, floats(4), floats(4), { sharedResult: true }, 1).isShared;
    expect(isShared(allReduce)).toBe(true);
    expect(isShared(broadcast)).toBe(true);
    expect(isShared(reduce)).toBe(false);
    const scatter = check({ kind: 'reduce-scatter', op: 'sum' }, floats(4), floats(2), { sharedResult: true });
    expect(scatter.isShared).toBe(false);
    expect(check(allReduce, floats(4), floats(4)).isShared).toBe(false);
  });

  it('refuses inputs and outputs with different numbers of segments, or none', () => {
    const message = 'all-reduce sum: every input and output must have the same number of segments, at least one';
    expectRefused(() => check(allReduce, floats(1, 1), floats(1)), message);
    expectRefused(() => check(allReduce, floats(1), floats(1, 1)), message);
    expectRefused(() => check(allReduce, [], []), message);
  });

  it('refuses several segments for collectives whose buffers have a block per rank', () => {
    const message =
      'this collective has one block per rank, so each of its buffers must be a single segment; join the segments first';
    expectRefused(() => check(allGather, floats(1, 1), floats(2, 2)), message);
    expectRefused(() => check({ kind: 'reduce-scatter', op: 'sum' }, floats(2, 2), floats(1, 1)), message);
    expect(() => check(allGather, floats(1), floats(2))).not.toThrow();
  });

  it('refuses segments of different dtypes', () => {
    const mixed = [zeros('float32', [1]), zeros('int32', [1])];
    const others = [zeros('float32', [1]), zeros('int32', [1])];
    expectRefused(
      () => check(allReduce, mixed, others),
      'all-reduce sum: all segments of a buffer must have one dtype',
    );
    expectRefused(() => check(broadcast, mixed, others), 'all segments of a buffer must have one dtype');
  });

  it('refuses an output segment that overlaps another segment', () => {
    const memory = zeros('float32', [8]);
    const [low, high, across] = [slice(memory, 0, 4), slice(memory, 4, 8), slice(memory, 2, 6)];
    expect(() => check(allReduce, [low, high], [low, high])).not.toThrow();
    expect(() => check(allReduce, [low, low], floats(4, 4))).not.toThrow();
    expectRefused(() => check(allReduce, floats(4, 4), [low, across]), 'overlap');
    expectRefused(() => check(allReduce, floats(4, 4), [across, high]), 'overlap');
    expectRefused(() => check(allReduce, [low, high], [high, low]), 'overlap');
    // Rank 0 writes no result, whose memory may be anything therefore.
    expect(() => check(reduce, floats(4, 4), [low, low])).not.toThrow();
    expectRefused(() => check(reduce, floats(4, 4), [low, low], {}, 1), 'overlap');
  });

  it('accepts one memory for the results of all ranks with sharedResult', () => {
    const outputs = floats(4, 2);
    const both = (sharedResult: boolean) =>
      checkedCall(
        {
          collective: allReduce,
          size: 2,
          localRanks: [0, 1],
          inputs: [floats(4, 2), floats(4, 2)],
          outputs: [outputs, outputs],
        },
        { sharedResult },
      );
    expect(both(true).isShared).toBe(true);
    expectRefused(() => both(false), 'overlap');
  });
});
