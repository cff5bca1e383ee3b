import { createRegistry, type Mirrored, PerReplica, ReduceOp, registry, type Tensor, tensor } from '@coll/core';
import { expect, it } from 'vitest';
import { DirectAllReduce } from './direct-all-reduce.js';
import { direct } from './plugin.js';

it.each([2, 3, 4, 7, 8])(
  'DirectAllReduce adds in rank order on %i devices, with the same bits everywhere',
  async (count) => {
    for (const length of [0, 1, count - 1, 2 * count + 1]) {
      const terms = Array.from({ length: count }, (_, rank) =>
        Float32Array.from({ length }, (_, index) => 0.1 * (rank + 1) ** index),
      );
      const sum = Float32Array.from({ length }, (_, index) =>
        terms.map((term) => term[index] as number).reduce((a, b) => Math.fround(a + b)),
      );
      const value = new PerReplica(terms.map((term, rank) => tensor(term, { device: `cpu:${rank}` })));
      const { values } = (await new DirectAllReduce().reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
      expect(values).toEqual(value.devices.map((device) => tensor(sum, { device })));
    }
  },
);

it('the direct plug-in creates DirectAllReduce with options', async () => {
  const known = createRegistry();
  known.register(direct);
  expect(await known.create('direct', { numPacks: 2 })).toBeInstanceOf(DirectAllReduce);
  await expect(known.create('direct', { numPacks: -1 })).rejects.toMatchObject({ name: 'ValueError' });
});

it('the direct plug-in refuses a number instead of options', () => {
  expect(() => new DirectAllReduce(2 as never)).toThrow('options must be an object, new DirectAllReduce({ ');
});

it('@coll/direct/register registers the direct plug-in', async () => {
  await import('./register.js');
  expect(registry.get('direct')).toBe(direct);
});
