import { jsEngine, wasmEngine } from '@coll/core';
import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { controllerGroup, executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const threads = threadRanks({ spins: 0, engine: wasmEngine });
afterAll(() => threads.close());

// The `js` engine has the same communicator with other kernels, and is tested with every algorithm and size.
executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'wasm threads',
    membersOf: (size) => size,
    open: threads.open,
    algorithms: [
      { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
      { algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } },
    ],
    ranks: [1, 2, 3, 7],
  }),
);

for (const engine of [wasmEngine, jsEngine]) {
  executorSuite(
    drawnSuite({
      test: it,
      describe,
      name: `${engine.name} controller`,
      membersOf: () => 1,
      open: controllerGroup((algorithm, size) => engine.communicator(size, algorithm)),
      algorithms: [
        { algorithm: ringAlgorithm() },
        { algorithm: directAlgorithm() },
        { algorithm: reductionToOneAlgorithm() },
        { algorithm: hierarchicalCopyAlgorithm() },
      ],
      ranks: [1, 2, 3, 4, 7],
    }),
  );
}
