import { direct, directAlgorithm } from '@coll/direct';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';

const threads = threadRanks({ spins: 0 });
afterAll(() => threads.close());

executorSuite({
  test: (name, run) => it(name, run, 60_000),
  describe,
  name: 'ThreadCommunicator',
  open: threads.open,
  algorithms: [
    { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
    {
      algorithm: ringAlgorithm({ subChunks: 2 }),
      source: { module: ring.module, export: 'ring', options: { subChunks: 2 } },
    },
    { algorithm: directAlgorithm, source: { module: direct.module, export: 'direct' } },
    { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
  ],
});
