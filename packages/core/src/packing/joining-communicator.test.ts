import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { type Collective, nameOf } from '../collectives/collective.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { type Tensor, tensor } from '../values/tensor.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const ints = (...elements: readonly number[]): Tensor => tensor(Int32Array.from(elements));
const numbersOf = (lists: readonly (readonly Tensor[])[]) => lists.map((list) => list.map(({ data }) => [...data]));

/** A communicator of two ranks that records the length of the buffers of each collective. */
class Noting extends ReferenceCommunicator {
  readonly calls: string[] = [];

  constructor() {
    super({ size: 2, algorithm: directAlgorithm() });
  }

  protected override runWholeSync(...call: Parameters<ReferenceCommunicator['runWholeSync']>): void {
    this.calls.push(`${nameOf(call[0])} of ${call[1][0]?.data.length}`);
    super.runWholeSync(...call);
  }
}

describe('JoiningCommunicator', () => {
  it('joins the segments of an all-reduce into one buffer and splits its result', async () => {
    const communicator = new Noting();
    const buffers = [
      [ints(1, 2), ints(), ints(3)],
      [ints(10, 20), ints(), ints(30)],
    ];
    communicator.runSync(sum, buffers, buffers);
    await communicator.run(sum, buffers, buffers);
    const doubled = [[22, 44], [], [66]];
    expect(numbersOf(buffers)).toEqual([doubled, doubled]);
    expect(communicator.calls).toEqual(['all-reduce sum of 3', 'all-reduce sum of 3']);
  });

  it('writes the result of a reduce at the root only', () => {
    const outputs = [
      [ints(7), ints(7)],
      [ints(7), ints(7)],
    ];
    const inputs = [
      [ints(1), ints(2)],
      [ints(10), ints(20)],
    ];
    new Noting().runSync({ kind: 'reduce', op: 'sum', root: 1 }, inputs, outputs);
    expect(numbersOf(outputs)).toEqual([
      [[7], [7]],
      [[11], [22]],
    ]);
  });

  it('broadcasts segment by segment, without a copy', async () => {
    const communicator = new Noting();
    const buffers = [
      [ints(1), ints(2, 3)],
      [ints(0), ints(0, 0)],
    ];
    await communicator.run({ kind: 'broadcast', root: 0 }, buffers, buffers);
    expect(numbersOf(buffers)).toEqual([
      [[1], [2, 3]],
      [[1], [2, 3]],
    ]);
    expect(communicator.calls).toEqual(['broadcast from rank 0 of 1', 'broadcast from rank 0 of 2']);
  });

  it('writes a shared result once', () => {
    const shared = [tensor([0]), tensor([0, 0])];
    const inputs = [
      [ints(1), ints(2, 3)],
      [ints(3), ints(4, 5)],
    ];
    new Noting().runSync({ kind: 'all-reduce', op: 'mean' }, inputs, [shared, shared], { sharedResult: true });
    expect(numbersOf([shared])).toEqual([[[2], [3, 4]]]);
  });

  it('accepts lists of one segment for every kind of collective', () => {
    const outputs = [[ints(0, 0)], [ints(0, 0)]];
    new Noting().runSync({ kind: 'all-gather' }, [[ints(1)], [ints(2)]], outputs);
    expect(numbersOf(outputs)).toEqual([[[1, 2]], [[1, 2]]]);
  });

  it.each<[string, Collective, readonly (readonly Tensor[])[], RegExp]>([
    ['different numbers of segments', sum, [[ints(1), ints(2)], [ints(1)]], /same number of segments/],
    [
      'different dtypes',
      sum,
      [
        [ints(1), tensor([1])],
        [ints(1), tensor([1])],
      ],
      /must have one dtype/,
    ],
    ['no segments', sum, [[], []], /at least one/],
  ])('refuses %s before the engine runs', async (_, collective, buffers, message) => {
    const communicator = new Noting();
    const wanted = { code: 'ERR_COLL_BUFFER', message: expect.stringMatching(message) };
    expect(thrown(() => communicator.runSync(collective, buffers, buffers))).toMatchObject(wanted);
    await expect(communicator.run(collective, buffers, buffers)).rejects.toMatchObject(wanted);
    expect(communicator.calls).toEqual([]);
  });
});
