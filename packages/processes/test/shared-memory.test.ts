import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'shared-memory' });
afterAll(() => processes.close());

executorSuite({ test: it, describe, name: 'processes over shared-memory', open: processes.open, algorithms });
