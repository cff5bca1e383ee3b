import { directAlgorithm } from '@coll/direct';
import { afterEach, expect, it } from 'vitest';
import { jsEngine } from '../js/js-engine.js';
import { tensor } from '../values/tensor.js';

const { waitAsync } = Atomics;
afterEach(() => {
  Object.assign(Atomics, { waitAsync });
});

it('asynchronous calls meet without Atomics.waitAsync', async () => {
  Object.assign(Atomics, { waitAsync: undefined });
  const group = jsEngine.createGroup({ size: 2, spins: 0 });
  const ranks = [0, 1].map((rank) => jsEngine.join(group, { rank, algorithm: directAlgorithm() }));
  const values = [tensor([1]), tensor([2])];
  await Promise.all(
    ranks.map((rank, index) =>
      rank.run({ kind: 'all-reduce', op: 'sum' }, [values[index] as never], [values[index] as never]),
    ),
  );
  expect(values.map(({ data }) => data[0])).toEqual([3, 3]);
});
