import { jsEngine, wasmEngine } from '@coll/core';
import { multiWorker, recursiveHalvingDoublingAlgorithm, specAlgorithm } from '@coll/multi-worker';
import { native } from '@coll/native';
import { controllerGroup, executorSuite, type SuiteAlgorithm, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawn, drawnSuite } from '../../../tools/tests/drawn.ts';

const algorithms: readonly SuiteAlgorithm[] = [
  { algorithm: specAlgorithm({ alg: 'pscpu/pscpu', shards: 2 }, { workers: 2, gpusPerWorker: 2 }) },
  { algorithm: recursiveHalvingDoublingAlgorithm() },
];

const engines = [jsEngine, wasmEngine, native].filter((each) => each.probe().available);
for (const engine of drawn('engines', engines)) {
  executorSuite(
    drawnSuite({
      test: it,
      describe,
      name: `${engine.name} engine`,
      membersOf: () => 1,
      open: controllerGroup((algorithm, size) => engine.communicator(size, algorithm)),
      algorithms,
      ranks: [4],
      kinds: ['all-reduce'],
    }),
  );
}

const threads = threadRanks({ spins: 0 });
afterAll(() => threads.close());

const options = { workerDevices: ['/job:a/task:0', '/job:a/task:1'], numGpusPerWorker: 1 };
const { module } = multiWorker;
executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'threads',
    membersOf: (size) => size,
    open: threads.open,
    algorithms: [
      {
        algorithm: specAlgorithm({ alg: 'pscpu/pscpu', shards: 2 }, { workers: 2, gpusPerWorker: 1 }),
        source: { module, export: 'multiWorker', options },
      },
    ],
    ranks: [2],
    kinds: ['all-reduce'],
  }),
);
