import { ReferenceCommunicator } from '@coll/core/internal';
import { directAlgorithm } from '@coll/direct';
import { hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { controllerGroup, executorSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'ReferenceCommunicator',
    membersOf: () => 1,
    open: controllerGroup((algorithm, size) => new ReferenceCommunicator({ size, algorithm })),
    algorithms: [
      { algorithm: ringAlgorithm() },
      { algorithm: ringAlgorithm({ subChunks: 2 }), source: { module: '', export: '', options: { subChunks: 2 } } },
      { algorithm: directAlgorithm() },
      { algorithm: reductionToOneAlgorithm() },
      { algorithm: hierarchicalCopyAlgorithm() },
    ],
    ranks: [1, 2, 3, 4, 5, 6, 7, 8, 9, 16],
  }),
);
