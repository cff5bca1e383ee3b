import { ReduceOp, type Tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { processGroupDoubles } from '../../test/doubles/process-group-double.js';
import { MultiWorkerAllReduce } from '../multi-worker-all-reduce.js';

describe('replicas in separate processes', () => {
  it.each(['xring', 'pscpu', 'psgpu', 'pscpu/pscpu', 'pscpu:1:xring'])(
    'reduce with the specification %s',
    async (allReduceSpec) => {
      for (const size of [1, 3]) {
        const sums = await Promise.all(
          processGroupDoubles(size).map(async (group) => {
            await using ops = new MultiWorkerAllReduce(undefined, undefined, { allReduceSpec, group });
            const value = [Float32Array.of(group.rank), Float32Array.of(1, group.rank)];
            const [one, two] = (await ops.allReduce(ReduceOp.SUM, value, group.rank)) as readonly [Tensor, Tensor];
            return [...one.data, ...two.data];
          }),
        );
        const sum = (size * (size - 1)) / 2;
        expect(sums).toEqual(new Array(size).fill([sum, size, sum]));
      }
    },
  );
});
