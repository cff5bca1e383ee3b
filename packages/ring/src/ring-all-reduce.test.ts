import { createRegistry, type Mirrored, PerReplica, ReduceOp, registry, type Tensor, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { ring } from './plugin.js';
import { RingAllReduce, type RingOptions } from './ring-all-reduce.js';

const ramp = (length: number, factor: number) => Array.from({ length }, (_, index) => factor * (index + 1));

function spread(...lists: readonly (readonly number[])[]): PerReplica<Tensor> {
  return new PerReplica(lists.map((list, rank) => tensor(Float32Array.from(list), { device: `cpu:${rank}` })));
}

async function summed(value: PerReplica<Tensor>, options?: RingOptions): Promise<number[]> {
  const sum = (await new RingAllReduce(options).reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
  return [...(sum.primary.data as Float32Array)];
}

it('RingAllReduce adds each element in the ring order of its chunk', async () => {
  // There is one chunk per rank. Rank k owns chunk k, and the sum of the chunk begins at the next
  // rank.
  const terms = [1e8, 1, -1e8];
  const fold = (order: readonly number[]) =>
    order.map((rank) => terms[rank] as number).reduce((a, b) => Math.fround(a + b));
  expect(await summed(spread(...terms.map((term) => [term, term, term])))).toEqual(
    [
      [1, 2, 0],
      [2, 0, 1],
      [0, 1, 2],
    ].map(fold),
  );
});

describe('subChunks', () => {
  it.each([1, 2, 3, 4])('do not change sums of integers if there are %i', async (subChunks) => {
    const value = spread(...[1, 2, 3, 4].map((factor) => ramp(19, factor)));
    expect(await summed(value, { subChunks })).toEqual(ramp(19, 10));
  });

  it.each([0, -1, 1.5])('must be 1 or more, not %d', (subChunks) => {
    expect(() => new RingAllReduce({ subChunks })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
  });

  it('that exceed the number of devices are replaced by reduction to one device, with a note', async () => {
    const ops = new RingAllReduce({ subChunks: 3 });
    const value = spread([1, 2], [1, 2]);
    const { values } = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(values.map(({ data }) => [...data])).toEqual([
      [2, 4],
      [2, 4],
    ]);
    expect(ops.explain().notes).toEqual([
      'subChunks must not exceed the ranks per worker, got 3 sub-chunks for 2 ranks per worker; reduction-to-one is used instead',
    ]);
  });
});

describe('the ring plug-in', () => {
  it('creates ops with options', async () => {
    const known = createRegistry();
    known.register(ring);
    expect(await known.create('ring', { subChunks: 2, numPacks: 2 })).toBeInstanceOf(RingAllReduce);
    for (const options of [{ subChunks: 0 }, { numPacks: -1 }])
      await expect(known.create('ring', options)).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('refuses a number instead of options', () => {
    expect(() => new RingAllReduce(2 as never)).toThrow('options must be an object, new RingAllReduce({ ');
  });

  it('is registered by @coll/ring/register', async () => {
    await import('./register.js');
    expect(registry.get('ring')).toBe(ring);
  });
});
