import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'tcp' });
afterAll(() => processes.close());

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'processes over tcp',
    membersOf: (size) => size,
    lacks: ['reserve'],
    open: processes.open,
    algorithms,
  }),
);
