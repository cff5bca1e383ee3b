import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { manyRanks } from '../../../tools/tests/drawn.ts';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

// One set of processes at a time: 128 of them take some gigabytes.
describe.each(['shared-memory', 'tcp'] as const)('more processes than cores, over %s', async (transport) => {
  const processes = await processGroups({ transport });
  afterAll(() => processes.close());

  executorSuite({
    test: it,
    describe,
    name: `processes over ${transport}`,
    membersOf: (size) => size,
    lacks: ['reserve'],
    open: processes.open,
    algorithms: algorithms.filter(({ algorithm }) => algorithm.name === 'ring'),
    ranks: manyRanks(),
  });
});
