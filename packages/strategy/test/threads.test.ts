import { type IndexedSlices, PerReplica, type Plugin, type Tensor, tensor, toNumbers } from '@coll/core';
import { direct } from '@coll/direct';
import { reductionToOne } from '@coll/reduction-to-one';
import { ring } from '@coll/ring';
import { MirroredStrategy } from '@coll/strategy';
import { beforeAll, describe, expect, it } from 'vitest';
import { drawn } from '../../../tools/tests/drawn.ts';
import { everything, type Shared } from './fixtures/everything.js';
import { cpu } from './strategies.js';

const module = new URL('./fixtures/everything.ts', import.meta.url);

type Everything = Awaited<ReturnType<typeof everything>>;

function argsFor(replicas: number): readonly unknown[] {
  const shared: Shared = { scale: 3, grid: tensor(Int16Array.of(1, 2), { shape: [2, 1] }) };
  const names = ['anna', 'bert', 'carl', 'dora'].slice(0, replicas);
  return [shared, new PerReplica(names)];
}

describe.each(drawn('replicas in threads', [1, 2, 3, 4]))('%i replicas in threads', (replicas) => {
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const total = ids.reduce((sum, id) => sum + id, 0);
  const strategy = new MirroredStrategy({ devices: cpu(replicas), crossDeviceOps: ring });
  let threads: readonly Everything[];
  let oneThread: readonly Everything[];

  beforeAll(async () => {
    const args = argsFor(replicas);
    oneThread = resultsOf(strategy, await strategy.run(everything as never, { args }));
    threads = resultsOf(strategy, await strategy.run(module, { args: [...args, true], exportName: 'everything' }));
  });

  it('return the same results as in one thread', () => {
    expect(threads.map((result) => ({ ...result, blocking: undefined }))).toEqual(oneThread);
  });

  it('sync calls return the same results as async calls', () => {
    for (const result of threads) {
      expect(Object.keys(result.blocking ?? {})).toHaveLength(9);
      expect(result).toMatchObject(result.blocking ?? {});
    }
  });

  it('have the right replica id and device', () => {
    for (const [id, { who, contexts }] of threads.entries()) {
      expect(who).toEqual({ id, of: replicas, devices: [`/job:localhost/replica:0/task:0/device:CPU:${id}`] });
      expect(new Set(Object.values(contexts))).toEqual(new Set([true]));
    }
  });

  it('receive their components of the arguments', () => {
    expect(threads.map(({ args }) => args.mine)).toEqual(['anna', 'bert', 'carl', 'dora'].slice(0, replicas));
    for (const { args } of threads)
      expect(args).toMatchObject({ scale: 3, grid: { data: Int16Array.of(1, 2), dtype: 'int16', shape: [2, 1] } });
  });

  it('reduce structures, dense and sparse', () => {
    for (const { sum, mean, min, max, product } of threads as never[]) {
      const { layers, slices, loss } = sum as unknown as { layers: Tensor[]; slices: IndexedSlices; loss: Tensor };
      expect(layers.map(toNumbers)).toEqual([
        [total, 2 * total, replicas],
        [total, replicas, replicas, replicas],
      ]);
      expect(layers[1]?.shape).toEqual([2, 2]);
      expect(toNumbers(slices.indices)).toEqual(ids.flatMap((id) => [id, 0]));
      expect(toNumbers(slices.values)).toEqual(ids.flatMap((id) => [id, id + 1]));
      expect(slices.denseShape).toEqual([9]);
      expect(toNumbers(loss)).toEqual([total]);
      expect(toNumbers((mean as unknown as { loss: Tensor }).loss)).toEqual([total / replicas]);
      expect(toNumbers(min)).toEqual([0, 6 - replicas]);
      expect(toNumbers(max)).toEqual([replicas - 1, 5]);
      expect(toNumbers(product)).toEqual([ids.reduce((result, id) => result * (id + 1), 1)]);
    }
  });

  it('reduce integers exactly with wrap-around, and average them to floats', () => {
    for (const { integers, meanOfIntegers } of threads as never[]) {
      const { small, big } = integers as unknown as Record<string, Tensor>;
      const sum = BigInt.asIntN(64, BigInt(replicas) * 2n ** 62n + BigInt(total));
      expect(small).toMatchObject({ data: Int8Array.of(total, 100 * replicas), dtype: 'int8' });
      expect(big).toMatchObject({ data: BigInt64Array.of(sum), dtype: 'int64' });
      const means = meanOfIntegers as unknown as Record<string, Tensor>;
      expect([means['small']?.dtype, means['big']?.dtype, means['half']?.dtype]).toEqual([
        'float32',
        'float64',
        'float16',
      ]);
      // The sum for a mean is a float64, which does not wrap around.
      expect(means['big']?.data[0]).toBe((replicas * 2 ** 62 + total) / replicas);
    }
  });

  it('return the same results with any packing options', () => {
    for (const { packed, timed } of threads) {
      expect(packed).toEqual(timed);
      const sums = (packed as unknown as Tensor[]).map(toNumbers);
      expect(sums).toEqual(
        Array.from({ length: 7 }, (_, index) => Array.from({ length: index }, (_, at) => at * replicas + total)),
      );
    }
  });

  it('match leaves by key, in any order', () => {
    for (const { anyOrder } of threads) {
      expect(anyOrder).toMatchObject({
        a: { data: Float64Array.of(total) },
        b: { data: Float64Array.of(10 * replicas) },
      });
    }
  });

  it('write results into the memory passed as `into`', () => {
    for (const { inPlace, into } of threads) {
      expect(inPlace).toEqual([Float32Array.of(total, replicas), Float32Array.of(total)]);
      expect(into).toMatchObject([{ data: inPlace[0] }, { data: inPlace[1] }]);
    }
  });

  it('gather along axes with different lengths', () => {
    for (const { rows, columns } of threads) {
      const { unequal, equal } = rows as unknown as Record<string, Tensor>;
      expect(unequal?.shape).toEqual([total + replicas, 2]);
      expect([...(unequal as Tensor).data]).toEqual(ids.flatMap((id) => new Array(2 * id + 2).fill(id)));
      expect(equal).toMatchObject({ data: Float32Array.from(ids) });
      expect(columns).toMatchObject({ shape: [2, replicas], data: Float64Array.from([...ids, ...ids.map(() => 1)]) });
    }
  });

  it('broadcast from any replica', () => {
    for (const { fromFirst, fromLast } of threads) {
      expect(fromFirst).toMatchObject([{ data: Float32Array.of(5) }, { data: Float64Array.of(7) }]);
      expect(fromLast).toMatchObject({ data: Float32Array.of(replicas + 4) });
    }
  });

  it("run merge calls with replica 0's function, one after the other", () => {
    for (const [id, { merged }] of threads.entries()) {
      const per = ['p', 'q', 'r', 's'][id];
      expect(merged.first).toEqual({ whose: 0, from: { id }, order: 'a', per });
      expect(merged.second).toEqual({ whose: 0, from: { id }, order: 'a,b', per });
      expect(merged.sum).toMatchObject({ data: Float64Array.of(total) });
      expect(merged.reduced).toMatchObject({ data: Float32Array.of(total + replicas) });
    }
  });
});

describe('overlapping calls of a replica', () => {
  it('execute one after the other, without mixing their values', async () => {
    const strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: ring });
    const asks = new URL('./fixtures/asks.mjs', import.meta.url);
    const sums = (value: number) => [`${2 * value},${2 * value}`, `${4 * value},${2 * value}`];
    const result = await strategy.run(asks, { exportName: 'concurrent' });
    // A bare list: both replicas have the same.
    expect(result).toEqual([...sums(1), ...sums(10), ...sums(100), '5,5', ...sums(1000)]);
  });

  it('complete even if it returns without awaiting them', async () => {
    const strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: ring });
    const asks = new URL('./fixtures/asks.mjs', import.meta.url);
    const reports: unknown[] = [];
    const options = { exportName: 'forgets', onReport: (...report: unknown[]) => reports.push(report.join()) };
    expect(await strategy.run(asks, options)).toBe('returned');
    expect(reports.sort()).toEqual(['0,2', '0,merged', '1,2']);
  });
});

describe.each([direct, reductionToOne] as Plugin<never>[])('replicas in threads by $name', (plugin) => {
  it('return the same results as in one thread', async () => {
    const strategy = new MirroredStrategy({ devices: cpu(2), crossDeviceOps: plugin });
    const options = { args: argsFor(2), exportName: 'everything' };
    const threads = resultsOf(strategy, await strategy.run(module, options));
    expect(threads).toEqual(resultsOf(strategy, await strategy.run(everything as never, options)));
  });
});

function resultsOf(strategy: MirroredStrategy, results: unknown): readonly Everything[] {
  return strategy.experimentalLocalResults(results) as readonly Everything[];
}
