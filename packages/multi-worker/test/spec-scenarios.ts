import assert from 'node:assert/strict';
import { PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { CollectiveAllReduce, MultiWorkerAllReduce } from '@coll/multi-worker';
import { assertAlike, assertClose, componentsOf, denseOf, devicesOf, mine, type Scenario } from './worker-values.ts';

const { SUM, MEAN } = ReduceOp;

/** Scenarios about the algorithm: that of a specification, and the one that is chosen. */
export const specScenarios: Readonly<Record<string, Scenario>> = {
  'executes specifications with the bits of one process': async (group) => {
    const workers = Array.from({ length: group.size }, (_, rank) => `/job:worker/task:${rank}`);
    const specs = [
      'xring',
      'pscpu',
      'psgpu',
      'pscpu/pscpu',
      [
        ['pscpu', 1, 4],
        ['xring', 1, 20],
        ['pscpu/pscpu', 2, -1],
      ],
    ] as const;
    for (const count of [1, 2]) {
      for (const allReduceSpec of specs) {
        const options = { allReduceSpec: allReduceSpec as 'xring', numPacks: 2 };
        await using here = new MultiWorkerAllReduce(workers, count, options);
        await using ops = new MultiWorkerAllReduce(workers, count, { ...options, group });
        if (group.executesBy !== undefined) assert.match(ops.explain().notes.join(), /chooses the algorithms itself/);
        const batch = [3, 10, 31].map((length, seed) => denseOf(group, count, length, 'float32', seed));
        const pairsOf = (values: readonly PerReplica<Tensor>[]) => values.map((value) => [value, value] as const);
        const wanted = await here.batchReduce(MEAN, pairsOf(batch.map((all) => new PerReplica(all))));
        const results = await ops.batchReduce(MEAN, pairsOf(batch.map((all) => mine(group, count, all))));
        results.forEach((result, index) => {
          const [expected] = componentsOf(wanted[index]) as readonly [Tensor];
          const title = `${JSON.stringify(allReduceSpec)} of ${count} devices a worker, value ${index}`;
          // A library adds in an order of its own.
          const isExact = group.executesBy === undefined && (count === 1 || allReduceSpec === 'pscpu/pscpu');
          for (const component of componentsOf(result)) {
            if (isExact) assert.deepEqual(component.data, expected.data, title);
            else assertClose(title, component, expected);
          }
        });
        await assertAlike(
          group,
          `${allReduceSpec}`,
          results.map((result) => componentsOf(result)[0] as Tensor),
        );
      }
    }
  },

  'chooses alike on all workers, and tells': async (group) => {
    const device = devicesOf(group.rank, 1);
    await using ops = new CollectiveAllReduce(device, group.size, { group });
    await ops.join();
    for (const length of [1, 5000, 100_000]) {
      const value = mine(group, 1, denseOf(group, 1, length));
      await ops.reduce(SUM, value, value);
    }
    const { choices } = ops.explain();
    const reduced = choices.filter(({ kind }) => kind === 'all-reduce');
    assert.ok(reduced.length >= 3, `${reduced.length} classes`);
    for (const { chosen, candidates, calls, measuredSeconds } of reduced) {
      assert.equal(chosen, candidates[0]?.algorithm);
      assert.ok(candidates.length >= 3 && candidates.every(({ predictedSeconds }) => predictedSeconds > 0));
      assert.ok(calls >= 1 && (measuredSeconds as number) > 0);
    }
    const prices = choices.flatMap(({ candidates }) => candidates.map(({ predictedSeconds }) => predictedSeconds));
    await assertAlike(group, 'prices', [tensor(Float64Array.from(prices))]);
  },
};
