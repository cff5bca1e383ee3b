import { ThreadCommunicator } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopy, hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { controllerGroup, executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const threads = threadRanks({ spins: 0 });
afterAll(() => threads.close());

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'ThreadCommunicator',
    membersOf: (size) => size,
    open: threads.open,
    algorithms: [
      { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
      {
        algorithm: ringAlgorithm({ subChunks: 2 }),
        source: { module: ring.module, export: 'ring', options: { subChunks: 2 } },
      },
      { algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } },
      { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
      {
        algorithm: hierarchicalCopyAlgorithm(),
        source: { module: hierarchicalCopy.module, export: 'hierarchicalCopy' },
      },
    ],
    ranks: [1, 2, 3, 4, 7, 8],
  }),
);

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'ThreadCommunicator, all ranks in one thread',
    membersOf: (size) => size,
    lacks: ['crash', 'reserve'],
    open: controllerGroup((algorithm, size) => {
      const group = createThreadGroup({ size });
      const ranks = Array.from({ length: size }, (_, rank) => rank);
      return ranks.map((rank) => new ThreadCommunicator(group, { rank, algorithm }));
    }),
    algorithms: [{ algorithm: directAlgorithm() }],
    ranks: [2, 3, 5],
  }),
);
