import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'tcp', encrypt: 'always' });
afterAll(() => processes.close());

executorSuite({
  test: it,
  describe,
  name: 'processes over encrypted tcp',
  membersOf: (size) => size,
  lacks: ['reserve'],
  open: processes.open,
  algorithms,
});
