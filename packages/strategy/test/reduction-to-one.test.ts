import { jsEngine, ReduceOp, type Tensor, tensor } from '@coll/core';
import { combine, portableWorld } from '@coll/core/plugin';
import { native } from '@coll/native';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it } from 'vitest';

const devices = ['cpu:0', 'cpu:1', 'cpu:2'];
const filled = (length: number, replica: number) => new Float32Array(length).fill(0.1 * (replica + 1));

describe.each([native, jsEngine])('reduction to one device with $name, for replicas of one thread', (engine) => {
  const memory: readonly [string, (own: Float32Array, shared: Float32Array) => Float32Array | undefined][] = [
    ['new memory', () => undefined],
    ['known memory', (own) => new Float32Array(own.length)],
    ['the memory of the values', (own) => own],
    ['one memory for all', (_, shared) => shared],
  ];

  // Few elements are combined by JavaScript, many by the engine.
  it.each(memory.flatMap(([name, into]) => [1, 50_000].map((length) => ({ name, into, length }))))(
    'returns the same bits as combine(), in $name, for $length elements',
    async ({ into, length }) => {
      await using ops = new ReductionToOneDevice({}, portableWorld(devices, engine));
      const values = devices.map((_, replica) => filled(length, replica));
      const expected = combine(
        'sum',
        values.map((data) => tensor(data)),
      ).data;
      const shared = new Float32Array(length);
      const results = await Promise.all(
        values.map((own, replica) => ops.allReduce(ReduceOp.SUM, own, replica, { into: into(own, shared) })),
      );
      for (const result of results) expect((result as Tensor).data).toEqual(expected);
    },
  );

  it('uses JavaScript only if the program passes its own accumulation function', async () => {
    const accumulationFn = (tensors: readonly Tensor[]) => combine('sum', tensors.slice(0, 1));
    await using ops = new ReductionToOneDevice({ accumulationFn }, portableWorld(devices, engine));
    const values = devices.map((_, replica) => filled(50_000, replica));
    const results = await Promise.all(values.map((own, replica) => ops.allReduce(ReduceOp.SUM, own, replica)));
    for (const result of results) expect((result as Tensor).data).toEqual(values[0]);
    expect(ops.explain().engine).toBe('js');
  });

  it('refuses calls after close', async () => {
    const ops = new ReductionToOneDevice({}, portableWorld(devices, engine));
    expect(ops.explain().engine).toBe(engine.name);
    await ops.close();
    await expect(ops.allReduce(ReduceOp.SUM, filled(50_000, 0), 0)).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });
});
