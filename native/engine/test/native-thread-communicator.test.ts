import { direct, directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { controllerGroup, executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';

const threads = threadRanks({ engine: native, engineModule: new URL('../src/register.ts', import.meta.url).href });
afterAll(() => threads.close());

const test = (name: string, run: () => void | Promise<void>) => it(name, run, 60_000);

executorSuite({
  test,
  describe,
  name: 'NativeThreadCommunicator',
  open: threads.open,
  algorithms: [
    { algorithm: directAlgorithm, source: { module: direct.module, export: 'direct' } },
    { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
    { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
  ],
  ranks: [1, 2, 3, 4, 7],
});

executorSuite({
  test,
  describe,
  name: 'NativeThreadCommunicator, all ranks in one thread',
  open: controllerGroup((algorithm, size) => {
    const group = native.createGroup({ size });
    const ranks = Array.from({ length: size }, (_, rank) => rank);
    return ranks.map((rank) => native.join(group, { rank, algorithm }));
  }),
  algorithms: [{ algorithm: directAlgorithm }],
  ranks: [2, 3, 5],
});
